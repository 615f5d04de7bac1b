/**
 * The power goes out, fifty times, under load. What the caller was told is on record; what was begun and not finished
 * is closed as aborted; the ledger verifies. `bench/crash.bench.ts` does the same for longer.
 */
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { traceIdToUlid } from '../../src/core/ids.ts'
import { createHome, startGatewayProcess } from '../gateway-process.ts'
import type { GatewayProcess, Home } from '../gateway-process.ts'
import { callTool, newTraceId } from '../modern-request.ts'

const KILLS = 50
const CALLERS = 8
const LONGEST_LOAD_MS = 250
/** These machines are shared: past this no further power cut is begun, and the number that happened is said. */
const BUDGET_MS = 60_000

let home: Home
let gateway: GatewayProcess | undefined
beforeEach(() => {
  home = createHome('guard:\n  callsPerMinute: 1000000\n  writesPerMinute: 1000000\n')
})
afterEach(async () => {
  await gateway?.kill()
  home.remove()
})

/** Callers that go on until the line goes dead, reads and records in turn; the traces of what they were answered. */
async function load(url: string, until: AbortSignal): Promise<ReadonlySet<string>> {
  const acknowledged = new Set<string>()
  const caller = async (): Promise<void> => {
    for (let turn = 0; !until.aborted; turn++) {
      const traceId = newTraceId()
      try {
        const { status } =
          turn % 2 === 0
            ? await callTool(url, 'task_create', { title: `turn ${turn}` }, traceId)
            : await callTool(url, 'server_ping', {}, traceId)
        if (status === 200) acknowledged.add(traceIdToUlid(traceId))
      } catch {
        return
      }
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, caller))
  return acknowledged
}

function outcomes(): Map<string, string> {
  const database = new DatabaseSync(join(home.data, 'hearthbus.db'), { readOnly: true })
  const rows = database.prepare('SELECT trace_id, outcome FROM actions').all()
  database.close()
  return new Map(rows.map((row) => [String(row['trace_id']), String(row['outcome'])]))
}

/** What the next start finds. The gateway has taken no other call yet: whatever is open was left open by a dead one. */
async function inspect(url: string, acknowledged: ReadonlySet<string>): Promise<number> {
  const recorded = outcomes()
  expect([...acknowledged].filter((traceId) => recorded.get(traceId) !== 'ok')).toEqual([])
  expect([...recorded.values()].filter((outcome) => outcome === 'running')).toEqual([])
  const { body } = await callTool(url, 'ledger_verify', {})
  expect(body.result).toMatchObject({ structuredContent: { ok: true, data: { valid: true } } })
  return [...recorded.values()].filter((outcome) => outcome === 'aborted').length
}

describe('after a power cut', () => {
  it(
    'no acknowledged call is missing, every unfinished one is aborted, and the ledger verifies',
    { timeout: 180_000 },
    async () => {
      const began = performance.now()
      const acknowledged = new Set<string>()
      let kills = 0
      while (kills < KILLS && performance.now() - began < BUDGET_MS) {
        gateway = await startGatewayProcess(home)
        await inspect(gateway.url, acknowledged)
        const dark = new AbortController()
        const running = load(gateway.url, dark.signal)
        await new Promise((resolve) => setTimeout(resolve, Math.random() * LONGEST_LOAD_MS))
        await gateway.kill()
        dark.abort()
        for (const traceId of await running) acknowledged.add(traceId)
        kills++
      }
      gateway = await startGatewayProcess(home)
      const aborted = await inspect(gateway.url, acknowledged)
      expect(acknowledged.size).toBeGreaterThan(0)
      process.stderr.write(
        `${kills} power cuts: ${acknowledged.size} calls acknowledged, none lost; ${aborted} cut off and closed as aborted\n`,
      )
      expect(await gateway.stop()).toBe(0)
    },
  )
})
