import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seeded } from '../seeded-random.ts'
import { call, closeAll, formCommunity, until } from '../mesh-house.ts'
import type { MeshNode } from '../mesh-house.ts'
import { chaos } from '../mesh-load.ts'
import type { ChaosReport } from '../mesh-load.ts'
import { NATS_SERVER, startNats, warnWithoutNats } from '../nats-process.ts'
import type { NatsProcess } from '../nats-process.ts'

/** The bench goes on for two minutes; here it is enough that everything happens a few times. */
const CHAOS_MS = 7_000

let [nodes, broker]: [readonly MeshNode[], NatsProcess | undefined] = [[], undefined]

beforeAll(async () => {
  broker = NATS_SERVER === '' ? undefined : await startNats()
  const mesh = broker === undefined ? '' : `  nats: { servers: ['${broker.url}'] }`
  nodes = await formCommunity(['home', 'left', 'right'], { mesh, yaml: 'bus: { preferLocal: false }' })
})
afterAll(async () => {
  await closeAll(nodes)
  await broker?.stop()
})

warnWithoutNats('chaos with a broker; the run below is without one')

describe('nodes and broker that are killed and restarted under load', () => {
  let report: ChaosReport

  it('leave no call unfinished and nothing in flight', async () => {
    report = await chaos({ nodes, broker, ms: CHAOS_MS, callers: 6, random: seeded(42) })
    nodes = report.nodes
    expect(report.kills).toBeGreaterThan(0)
    expect(report.inFlight).toBe(0)
    expect(report.ok).toBeGreaterThan(0)
    expect(report.remote).toBeGreaterThan(0)
  })

  it('execute no non-idempotent call twice, and report none as done that was not', () => {
    expect(report.duplicates).toEqual([])
    expect(report.missing).toEqual([])
  })

  it('answer failures with known codes only', () => {
    const known = new Set(['partition', 'timeout', 'internal_error', 'not_found', 'capacity_exceeded'])
    expect(Object.keys(report.errors).filter((code) => !known.has(code))).toEqual([])
  })

  it('have ledgers that verify and contain each other’s calls under one trace', () => {
    expect(report.soundLedgers).toBe(3)
    expect(report.unlinked).toEqual([])
    expect(report.linked).toBeGreaterThan(0)
  })

  it('find all other nodes again', async () => {
    const [home] = nodes
    if (home === undefined) throw new Error('nobody is left')
    await until('everybody is back', async () => {
      const answers = await Promise.all(['left', 'right'].map((name) => call(home, `test.only.${name}`)))
      return answers.every(({ outcome }) => outcome === 'ok')
    })
    expect((await call(home, 'test.only.left')).outcome).toBe('ok')
  })
})
