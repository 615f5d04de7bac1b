import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { call, closeAll, formCommunity, until } from '../mesh-house.ts'
import type { MeshNode } from '../mesh-house.ts'
import { openNetwork } from '../mesh-network.ts'
import type { Spoilt } from '../mesh-network.ts'
import { providers, routed } from '../mesh-load.ts'

const network = openNetwork('a node behind a bad cable, which is NOT RUN at all')

describe.skipIf(network === undefined)('a node that loses every other packet', () => {
  let nodes: readonly MeshNode[] = []
  let spoilt: Spoilt | undefined

  beforeAll(async () => {
    nodes = await formCommunity(['home', 'left', 'right'], { network, yaml: 'bus: { preferLocal: false }' })
  })
  afterAll(async () => {
    await closeAll(nodes)
    network?.remove()
  })

  it('is quarantined while others answer, and comes back when packets arrive again', async (context) => {
    const [home, left] = nodes
    if (home === undefined || left === undefined) throw new Error('the community was not formed')
    const quarantinedMs = async (): Promise<number | undefined> =>
      (await providers(home, 'test.quick')).get(left.nodeId)
    await until('everybody answers', async () => {
      // Whoever was too slow for its deadline on a busy machine is left alone for a minute, which passes at once.
      const slowestMs = Math.max(...(await providers(home, 'test.quick')).values())
      if (slowestMs > 0) await home.say({ do: 'leap', ms: slowestMs })
      const by = await routed(home, 'test.quick', 12)
      return by.size === 3 && !by.has('undefined')
    })

    spoilt = network?.spoil('left')
    if (spoilt === undefined) {
      process.stderr.write('\n*** NOT RUN: a bad cable: neither tc netem nor nft are possible here ***\n')
      return context.skip()
    }
    process.stderr.write(`packets get lost by ${spoilt.by}\n`)
    // Callers who insist on it find out; its own deadline leaves no time to ask somebody else.
    await until('it is quarantined', async () => {
      const insisting = Array.from({ length: 4 }, () => call(home, 'test.quick', {}, { node: left.nodeId }))
      await Promise.all(insisting)
      return ((await quarantinedMs()) ?? 0) > 0
    })
    await until('the others answer instead', async () => {
      const around = await routed(home, 'test.quick', 6)
      expect(around.has('left')).toBe(false)
      return !around.has('undefined')
    })

    spoilt.mend()
    // The minute that it has to wait is not waited for here: to this node it passes at once.
    await until('it answers again', async () => {
      const leftMs = (await quarantinedMs()) ?? 0
      if (leftMs > 0) await home.say({ do: 'leap', ms: leftMs })
      return (await routed(home, 'test.quick', 12)).has('left')
    })
    expect(await quarantinedMs()).toBe(0)
    expect((await call(home, 'test.quick', {}, { node: left.nodeId })).outcome).toBe('ok')
  })
})
