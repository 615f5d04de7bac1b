import { describe, expect, it } from 'vitest'
import { node, offered } from '../../test/bus-village.ts'
import { identityOf } from '../../test/mesh-keys.ts'
import { announce } from '../bus/peer.ts'
import { manualClock } from '../core/clock.ts'
import { silentLogger } from '../core/logger.ts'
import { fail } from '../core/result.ts'
import { foundCommunity, withMember } from './identity/community.ts'
import { issueManifest, slim } from './identity/node-manifest.ts'
import { Neighbourhood } from './neighbourhood-client.ts'
import { PeerBook } from './peer-book.ts'
import { unreachable } from './transport.ts'

const [us, root, other] = [identityOf(21), identityOf(22), identityOf(23)]

describe('a neighbour that only a registry tells of', () => {
  it('is on the bus without being asked what it offers, however its news is ordered', () => {
    for (const order of ['capabilities first', 'manifest first'] as const) {
      const { bus, hear, asked } = house()
      const told = order === 'capabilities first' ? ['capabilities', 'manifest'] : ['manifest', 'capabilities']
      for (const kind of told) hear(kind as 'capabilities' | 'manifest', ['test.one'], 1)
      expect([order, bus.offer('test.one')?.name]).toEqual([order, 'test.one'])
      expect([order, asked.includes('mesh.manifest')]).toEqual([order, order === 'manifest first'])
    }
  })

  it('is believed only what its manifest names', () => {
    const { bus, hear } = house()
    hear('capabilities', ['test.other'], 1)
    hear('manifest', ['test.one'], 1)
    expect([bus.offer('test.one'), bus.offer('test.other')]).toEqual([undefined, undefined])
    // What came too early is what the next manifest names.
    hear('manifest', ['test.other'], 2)
    expect(bus.offer('test.other')?.name).toBe('test.other')
  })
})

function house(): {
  readonly bus: ReturnType<typeof node>
  readonly asked: readonly string[]
  readonly hear: (kind: 'capabilities' | 'manifest', names: readonly string[], sequence: number) => void
} {
  const clock = manualClock()
  const bus = node(us.id, { clock })
  const founded = foundCommunity({ name: 'lane', root, founder: { nodeId: us.id, name: 'us' }, nowMs: clock.now() })
  const context = { authority: { self: us, root }, nowMs: clock.now() }
  const grown = withMember(founded, { nodeId: other.id, name: 'other', level: 'trusted' }, context)
  if (!grown.ok) throw new Error(grown.fault.kind)
  const asked: string[] = []
  const book = new PeerBook(us.id, bus)
  const neighbourhood = new Neighbourhood({
    self: us.id,
    book,
    clock,
    logger: silentLogger,
    community: () => grown.value,
    own: () => undefined,
    ask: async (peer, question) => {
      asked.push(question)
      return fail(unreachable(peer.nodeId, 'nobody answers in this test'))
    },
    identify: async () => undefined,
    onCommunity: async () => undefined,
    onGone: () => undefined,
  })
  return {
    bus,
    asked,
    hear: (kind, names, sequence) => {
      const capabilities = names.map((name) => announce(offered({ name })))
      for (const capability of capabilities)
        if (capability.schemas !== undefined) book.schemas.keep(capability, capability.schemas)
      const facts = { displayName: 'other', endpoints: [], inFlight: 0, uptimeSeconds: 1, nowMs: clock.now() }
      const full = issueManifest({ ...facts, communityId: root.id, capabilities, sequence }, other)
      const { capabilities: wire, capabilities_hash: hash } = full
      if (kind === 'manifest') neighbourhood.hint({ kind, manifest: slim(full), way: { transport: 'nats' } }, 'nats')
      else if (typeof hash === 'string')
        neighbourhood.hint({ kind, nodeId: other.id, hash, capabilities: wire }, 'nats')
    },
  }
}
