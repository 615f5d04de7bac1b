import { afterEach, describe, expect, it, vi } from 'vitest'
import { capability, recordedBus } from '../../test/mcp-house.ts'
import { describeOwnCapability } from '../bus/peer.ts'
import { ok } from '../core/result.ts'
import { subscribeToMcpListChanges } from './list-change-subscription.ts'

const tool = capability({ name: 'tool' }, () => ok({ data: 1 }))
const prompt = capability({ name: 'prompt', face: { kind: 'prompt', arguments: [] } }, () => ok({ data: 1 }))
const service = capability({ name: 'service', face: { kind: 'service' } }, () => ok({ data: 1 }))

afterEach(() => {
  vi.useRealTimers()
})

describe('change subscription', () => {
  it('reports which list changed, once for simultaneous changes, until it is stopped', async () => {
    const { bus } = recordedBus()
    const received: string[] = []
    const stop = subscribeToMcpListChanges(bus, {
      onList: (kind) => received.push(kind),
      onResource: (uri) => received.push(uri),
    })
    bus.registerCapability(tool)
    bus.registerCapability(prompt)
    bus.registerCapability(service)
    await expect.poll(() => received).toEqual(['tool', 'prompt'])
    bus.announceResource('a://b')
    expect(received).toEqual(['tool', 'prompt', 'a://b'])
    stop()
    bus.deregister('tool', [1, 0])
    bus.announceResource('a://b')
    await new Promise(setImmediate)
    expect(received).toEqual(['tool', 'prompt', 'a://b'])
  })

  it('reports a thousand consecutive registrations in a few notifications, including the last', async () => {
    const { bus } = recordedBus()
    const received: number[] = []
    const stop = subscribeToMcpListChanges(bus, {
      onList: () => received.push(bus.offers().length),
      onResource: () => undefined,
    })
    for (let each = 0; each < 1_000; each++) {
      bus.registerCapability(capability({ name: `tool${each}` }, () => ok({ data: 1 })))
      await Promise.resolve()
    }
    await expect.poll(() => received.at(-1)).toBe(1_000)
    expect(received.length).toBeLessThan(100)
    stop()
  })

  it('reports the first change at once and later ones at most twice per second', async () => {
    vi.useFakeTimers()
    const { bus } = recordedBus()
    const received: number[] = []
    const stop = subscribeToMcpListChanges(bus, {
      onList: () => received.push(bus.offers().length),
      onResource: () => undefined,
    })
    for (let each = 0; each < 120; each++) {
      bus.registerCapability(capability({ name: `device${each}` }, () => ok({ data: 1 })))
      await vi.advanceTimersByTimeAsync(25)
    }
    await vi.advanceTimersByTimeAsync(500)
    expect(received).toEqual([1, 20, 40, 60, 80, 100, 120])
    stop()
  })

  it('reports when another node offers or withdraws a tool, because the schema then names the nodes', async () => {
    const { bus } = recordedBus()
    bus.registerCapability(tool)
    const received: string[] = []
    const stop = subscribeToMcpListChanges(bus, { onList: (kind) => received.push(kind), onResource: () => undefined })
    const attic = { nodeId: 'attic', displayName: 'attic', endpoint: undefined }
    bus.onPeerAdded({ ...attic, manifest: { nodeId: 'attic', capabilities: [describeOwnCapability(tool.offer)] } })
    await expect.poll(() => received).toEqual(['tool'])
    bus.onPeerRemoved('attic')
    await expect.poll(() => received).toEqual(['tool', 'tool'])
    stop()
  })
})
