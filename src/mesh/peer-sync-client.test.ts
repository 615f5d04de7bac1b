import { describe, expect, it } from 'vitest'
import { node, offered } from '../../test/bus-village.ts'
import { identityOf } from '../../test/mesh-keys.ts'
import { describeOwnCapability } from '../bus/peer.ts'
import { manualClock } from '../../test/manual-clock.ts'
import type { JsonObject } from '../core/json.ts'
import { silentLogger } from '../core/logger.ts'
import { fail, ok } from '../core/result.ts'
import { createCommunity, admitMember } from './identity/community.ts'
import { issueManifest, omitManifestCapabilities } from './identity/node-manifest.ts'
import { PeerSync } from './peer-sync-client.ts'
import { PeerDirectory } from './peer-directory.ts'
import { createUnreachableFault } from './transport.ts'

const [us, root, other] = [identityOf(21), identityOf(22), identityOf(23)]

describe('a peer known only from the registry', () => {
  it('is on the bus in either order of messages, and is queried only if its manifest came first', () => {
    for (const order of ['capabilities first', 'manifest first'] as const) {
      const { bus, receive, requested } = rig()
      const kinds = order === 'capabilities first' ? ['capabilities', 'manifest'] : ['manifest', 'capabilities']
      for (const kind of kinds) receive(kind as 'capabilities' | 'manifest', ['test.one'], 1)
      expect([order, bus.offer('test.one')?.name]).toEqual([order, 'test.one'])
      expect([order, requested.includes('mesh.manifest')]).toEqual([order, order === 'manifest first'])
    }
  })

  it('gets only the capabilities that its manifest names', () => {
    const { bus, receive } = rig()
    receive('capabilities', ['test.other'], 1)
    receive('manifest', ['test.one'], 1)
    expect([bus.offer('test.one'), bus.offer('test.other')]).toEqual([undefined, undefined])
    // What came too early is what the next manifest names.
    receive('manifest', ['test.other'], 2)
    expect(bus.offer('test.other')?.name).toBe('test.other')
  })
})

describe('a peer whose manifests are refused', () => {
  it('is logged once, and once more after a valid manifest', () => {
    const { clock, warnings, peerSync, manifest } = rig()
    const announce = (sequence: number): void =>
      peerSync.hint(
        {
          kind: 'manifest',
          manifest: omitManifestCapabilities(manifest([], sequence)),
          endpoint: { transport: 'nats' },
        },
        'nats',
      )
    const stale = omitManifestCapabilities(manifest([], 1))
    const repeat = (): void =>
      peerSync.hint({ kind: 'manifest', manifest: stale, endpoint: { transport: 'nats' } }, 'nats')
    clock.advance(86_400_000)
    for (let times = 0; times < 3; times++) repeat()
    expect(warnings).toEqual(['a manifest was refused'])
    announce(2)
    for (let times = 0; times < 3; times++) repeat()
    expect(warnings).toEqual(['a manifest was refused', 'a manifest was refused'])
  })
})

describe('a peer whose manifest is being fetched', () => {
  it('is queried again when a newer manifest arrives during the query', async () => {
    const { bus, receive, requested, answer, manifest } = rig()
    receive('manifest', ['test.one'], 1)
    // What comes back is what it was asked for, and old by now.
    receive('manifest', ['test.one', 'test.two'], 2)
    answer(manifest(['test.one'], 1))
    await expect.poll(() => requested.length).toBe(2)
    answer(manifest(['test.one', 'test.two'], 2))
    await expect.poll(() => bus.offer('test.two')).toBeDefined()
    expect(requested).toEqual(['mesh.manifest', 'mesh.manifest'])
    expect(bus.offer('test.one')?.name).toBe('test.one')
  })

  it('is queried under its new entry when it left and returned during the query', async () => {
    const { bus, receive, requested, answer, manifest, leave } = rig()
    receive('manifest', ['test.one'], 1)
    leave()
    receive('manifest', ['test.one'], 2)
    answer(undefined)
    await expect.poll(() => requested.length).toBe(2)
    answer(manifest(['test.one'], 2))
    await expect.poll(() => bus.offer('test.one')).toBeDefined()
    expect(requested).toEqual(['mesh.manifest', 'mesh.manifest'])
  })

  it("gets one more exchange at once when this node's offers changed during an exchange", async () => {
    const { peerSync, receive, requested, answer } = rig()
    receive('capabilities', ['test.one'], 1)
    receive('manifest', ['test.one'], 1)
    void peerSync.announceToAll()
    void peerSync.announceToAll()
    expect(requested).toEqual(['mesh.exchange'])
    answer({})
    await expect.poll(() => requested.length).toBe(2)
    answer({})
    expect(requested).toEqual(['mesh.exchange', 'mesh.exchange'])
  })
})

function rig(): {
  readonly peerSync: PeerSync
  readonly clock: ReturnType<typeof manualClock>
  readonly warnings: readonly string[]
  readonly bus: ReturnType<typeof node>
  readonly requested: readonly string[]
  readonly receive: (kind: 'capabilities' | 'manifest', names: readonly string[], sequence: number) => void
  /** To the oldest question that waits; `undefined` where nobody answers. */
  readonly answer: (value: JsonObject | undefined) => void
  readonly manifest: (names: readonly string[], sequence: number) => JsonObject
  readonly leave: () => void
} {
  const clock = manualClock()
  const bus = node(us.id, { clock })
  const founded = createCommunity({ name: 'lane', root, founder: { nodeId: us.id, name: 'us' }, nowMs: clock.now() })
  const context = { authority: { self: us, root }, nowMs: clock.now() }
  const grown = admitMember(founded, { nodeId: other.id, name: 'other', level: 'trusted' }, context)
  if (!grown.ok) throw new Error(grown.fault.kind)
  const requested: string[] = []
  const warnings: string[] = []
  const waiting: ((value: JsonObject | undefined) => void)[] = []
  const directory = new PeerDirectory(us.id, bus)
  const peerSync = new PeerSync({
    self: us.id,
    directory,
    clock,
    logger: { ...silentLogger, warn: (_, message) => void warnings.push(message) },
    community: () => grown.value,
    own: () => undefined,
    request: async (peer, question) => {
      requested.push(question)
      const value = await new Promise<JsonObject | undefined>((resolve) => waiting.push(resolve))
      return value === undefined ? fail(createUnreachableFault(peer.nodeId, 'nobody answers')) : ok(value)
    },
    requestFromUnknown: async ({ nodeId }) => fail(createUnreachableFault(nodeId, 'nobody answers')),
    identify: async () => undefined,
    onCommunity: async () => undefined,
    onGone: () => undefined,
  })
  const manifest = (names: readonly string[], sequence: number): JsonObject => {
    const capabilities = names.map((name) => describeOwnCapability(offered({ name })))
    for (const capability of capabilities)
      if (capability.schemas !== undefined) directory.schemas.store(capability, capability.schemas)
    const facts = { displayName: 'other', endpoints: [], inFlight: 0, uptimeSeconds: 1, nowMs: clock.now() }
    return issueManifest({ ...facts, communityId: root.id, capabilities, sequence }, other)
  }
  return {
    peerSync,
    clock,
    warnings,
    bus,
    requested,
    receive: (kind, names, sequence) => {
      const full = manifest(names, sequence)
      const { capabilities, capabilities_hash: hash } = full
      if (kind === 'manifest')
        peerSync.hint({ kind, manifest: omitManifestCapabilities(full), endpoint: { transport: 'nats' } }, 'nats')
      else if (typeof hash === 'string') peerSync.hint({ kind, nodeId: other.id, hash, capabilities }, 'nats')
    },
    answer: (value) => waiting.shift()?.(value),
    manifest,
    leave: () => directory.remove(other.id),
  }
}
