import { beforeEach, describe, expect, it } from 'vitest'
import { node, offered } from '../../test/bus-village.ts'
import { identityOf, NEW_YEAR_MS } from '../../test/mesh-keys.ts'
import type { CapabilityBus } from '../bus/bus.ts'
import { describeOwnCapability } from '../bus/peer.ts'
import type { PeerCapability } from '../bus/peer.ts'
import { createAnnouncementTxtRecord, parseAnnouncementTxtRecord } from './discovery/announcement.ts'
import { formatHostPort, parseHostPort } from './discovery/peer-source.ts'
import { createCommunity, admitMember, revokeMember } from './identity/community.ts'
import type { Community } from './identity/community.ts'
import { issueManifest, omitManifestCapabilities } from './identity/node-manifest.ts'
import type { ManifestInput } from './identity/node-manifest.ts'
import { PeerDirectory } from './peer-directory.ts'
import type { PeerManifestUpdateResult, KnownPeer } from './peer-directory.ts'

const [us, root, peer, outsider] = [identityOf(1), identityOf(2), identityOf(3), identityOf(4)]
const context = { authority: { self: us, root }, nowMs: NEW_YEAR_MS }
const echoing = describeOwnCapability(offered({ name: 'test.echo' }))

let bus: CapabilityBus
let directory: PeerDirectory
let community: Community

beforeEach(() => {
  bus = node(us.id)
  directory = new PeerDirectory(us.id, bus)
  const founded = createCommunity({ name: 'v', root, founder: { nodeId: us.id, name: 'us' }, nowMs: NEW_YEAR_MS })
  const grown = admitMember(founded, { nodeId: peer.id, name: 'peer', level: 'member' }, context)
  if (!grown.ok) throw new Error(grown.fault.kind)
  community = grown.value
})

describe('peer directory', () => {
  it('registers a proven member on the bus with the schemas it already holds', () => {
    directory.schemas.store(echoing, echoing.schemas ?? { request: {} })
    const update = receive(full({ sequence: 1 }))
    directory.publish(peerIn(update))
    expect(bus.offer('test.echo')?.requestSchema).toEqual({ type: 'object' })
    expect(bus.stats().peers).toBe(1)
  })

  it('requests the capabilities of a manifest only if it does not know their hash', () => {
    expect(receive(omitManifestCapabilities(full({ sequence: 1 })))).toMatchObject({
      kind: 'heard',
      wantsCapabilities: true,
    })
    expect(receive(full({ sequence: 1 }))).toMatchObject({ kind: 'heard', wantsCapabilities: false })
    expect(receive(omitManifestCapabilities(full({ sequence: 2 })))).toMatchObject({
      kind: 'heard',
      wantsCapabilities: false,
    })
  })

  it('requests no more schemas from a peer whose schemas exceed the size limit', () => {
    const filler = 'x'.repeat(250_000)
    const wordy = Array.from({ length: 40 }, (_, index) =>
      describeOwnCapability(offered({ name: `test.wordy${index}`, requestSchema: { $comment: filler } })),
    )
    const update = peerIn(receive(full({ sequence: 1, capabilities: wordy })))
    expect(directory.missingSchemas(update)).toHaveLength(40)
    for (const capability of wordy.slice(0, 33))
      directory.schemas.store(capability, capability.schemas ?? { request: {} })
    expect(directory.missingSchemas(update)).toHaveLength(7)
    for (const capability of wordy.slice(33, 34))
      directory.schemas.store(capability, capability.schemas ?? { request: {} })
    expect(directory.missingSchemas(update)).toEqual([])
  })

  it('refuses a schema that is too long, and discards the oldest ones when it is full', () => {
    const of = (name: string, length: number): PeerCapability =>
      describeOwnCapability(offered({ name, requestSchema: { $comment: 'x'.repeat(length) } }))
    const store = (capability: PeerCapability): boolean =>
      directory.schemas.store(capability, capability.schemas ?? { request: {} })
    expect(store(of('test.endless', 600_000))).toBe(false)
    const many = Array.from({ length: 80 }, (_, index) => of(`test.many${index}`, 250_000))
    for (const capability of many) expect(store(capability)).toBe(true)
    expect(many.filter(({ schemaHash }) => directory.schemas.find(schemaHash) !== undefined)).toEqual(many.slice(-67))
  })

  it('uses the display name of a member unless it is invalid or belongs to another member', () => {
    const called = (displayName: string, sequence: number): string | undefined => {
      directory.publish(peerIn(receive(full({ displayName, sequence }))))
      return bus.nodeName(peer.id)
    }
    expect(called('peer', 1)).toBe('peer')
    expect(called('barn', 2)).toBe('barn')
    expect(called('us', 3)).toBe('peer')
    expect(called('\u001b[31mred', 4)).toBe('peer')
  })

  it('ignores a manifest with a lower sequence number', () => {
    receive(full({ sequence: 5 }))
    expect(receive(full({ sequence: 4, capabilities: [] })).kind).toBe('old')
    expect(receive(omitManifestCapabilities(full({ sequence: 5 }))).kind).toBe('old')
  })

  it('accepts the lower sequence number of a restored node in its own live answer', () => {
    receive(full({ sequence: 5_000_000_007 }))
    const back = full({ sequence: 5_000_000_001, capabilities: [], nowMs: NEW_YEAR_MS + 2_000 })
    expect(receive(back).kind).toBe('old')
    const answered = (manifest: unknown): PeerManifestUpdateResult =>
      directory.receive(manifest, { community, nowMs: NEW_YEAR_MS, monotonicMs: 0, source: 'test', isLive: true })
    // Of the same process, and overtaken on its way.
    expect(answered(full({ sequence: 5_000_000_006, capabilities: [] })).kind).toBe('old')
    expect(answered(back)).toMatchObject({ kind: 'heard', peer: { capabilities: [] } })
    expect(receive(omitManifestCapabilities(full({ sequence: 5_000_000_002 })))).toMatchObject({
      kind: 'heard',
      wantsCapabilities: true,
    })
  })

  it('tries the announced address of a node that moved, and drops only announced old addresses', () => {
    const at = (host: string): Pick<ManifestInput, 'endpoints'> => ({
      endpoints: [{ transport: 'http', host, port: 7080 }],
    })
    const update = peerIn(receive(full({ sequence: 1 }), '192.0.2.9'))
    receive(full({ sequence: 2, ...at('192.0.2.77') }))
    expect(directory.placesOf(update)).toEqual(['192.0.2.77:7080'])
    // An address that it never announced, such as the owner's own name for it, is as good as before.
    receive(full({ sequence: 3, ...at('192.0.2.77') }), 'attic.example')
    receive(full({ sequence: 4, ...at('192.0.2.88') }))
    expect(directory.placesOf(update)).toEqual(['attic.example:7080', '192.0.2.88:7080'])
  })

  it('refuses a non-member, a revoked node, another community and itself', () => {
    const why = (update: PeerManifestUpdateResult): unknown =>
      update.kind === 'refused' ? update.why.kind : update.kind
    expect(why(receive(full({}, outsider)))).toBe('stranger')
    expect(why(receive(full({}, us)))).toBe('ourselves')
    expect(why(receive(full({ communityId: outsider.id })))).toBe('foreign')
    const revoked = revokeMember(community, peer.id, context)
    if (revoked.ok) community = revoked.value
    expect(why(receive(full({ sequence: 9 })))).toBe('revoked')
  })

  it('keeps health and calls in flight when a manifest is refreshed', () => {
    const update = peerIn(receive(full({ sequence: 1 })))
    directory.publish(update)
    const [entry] = bus.registry.named('test.echo')
    if (entry === undefined) throw new Error('not on the bus')
    entry.inFlight = 3
    receive(omitManifestCapabilities(full({ sequence: 2 })))
    directory.publish(update)
    expect(bus.registry.named('test.echo')).toEqual([entry])
    expect(entry.inFlight).toBe(3)
  })

  it('removes a peer after 90 s of silence, after a goodbye, and after three failed requests', () => {
    directory.publish(peerIn(receive(full({ sequence: 1 }))))
    expect(directory.sweep(community, 90_000)).toEqual([])
    expect(directory.sweep(community, 90_001)).toEqual([peer.id])
    directory.publish(peerIn(receive(full({ sequence: 2 }))))
    expect(receive(full({ sequence: 3, lifeMs: 0 }))).toEqual({ kind: 'left', nodeId: peer.id })
    directory.publish(peerIn(receive(full({ sequence: 4 }))))
    expect([directory.fail(peer.id), directory.fail(peer.id), directory.fail(peer.id)]).toEqual([false, false, true])
    expect(bus.stats().peers).toBe(0)
    expect(directory.departed(peer.id)?.endpoints).toEqual([{ transport: 'http', host: '192.0.2.9', port: 7080 }])
  })

  it('refuses a schema under a hash that does not match it', () => {
    expect(directory.schemas.store(echoing, { request: { type: 'string' } })).toBe(false)
    expect(directory.missingSchemas(peerIn(receive(full({}))))).toHaveLength(1)
  })

  it('holds 200 nodes', () => {
    let grown = community
    const others = Array.from({ length: 200 }, (_, index) => identityOf(index + 20))
    for (const other of others) {
      const next = admitMember(
        grown,
        { nodeId: other.id, name: `n${other.id.slice(8, 20).toLowerCase()}`, level: 'member' },
        context,
      )
      if (next.ok) grown = next.value
    }
    community = grown
    for (const other of others) directory.publish(peerIn(receive(full({}, other))))
    expect(bus.registry.named('test.echo')).toHaveLength(200)
  })
})

describe('mDNS announcement', () => {
  it('is understood only by nodes of the same community', () => {
    const text = createAnnouncementTxtRecord(peer.id, root.id)
    expect(text).toMatchObject({ v: '1', contract: '1.0' })
    expect(JSON.stringify(text)).not.toContain(root.id.slice(8))
    expect(parseAnnouncementTxtRecord(text, root.id)).toBe(peer.id)
    expect(parseAnnouncementTxtRecord(text, us.id)).toBeUndefined()
    expect([null, 'x', {}, { ...text, id: 'x' }].map((odd) => parseAnnouncementTxtRecord(odd, root.id))).toEqual(
      Array(4),
    )
  })
})

describe('peer address', () => {
  it('is a host and a port, with brackets around an IPv6 address', () => {
    const texts = ['192.0.2.1:7080', 'cellar.local:1', '[2001:db8::1]:7080', '[fe80::1%eth0]:7080']
    const parsed = texts.map(parseHostPort)
    expect(parsed.map((address) => address && formatHostPort(address.host, address.port))).toEqual(texts)
    expect(['', 'x', 'x:0', 'x:65536', '2001:db8::1:7080', 'http://x:1', '[x]:1'].map(parseHostPort)).toEqual(Array(7))
  })
})

function receive(manifest: unknown, host?: string): PeerManifestUpdateResult {
  const reached = host === undefined ? undefined : ({ transport: 'http', host, port: 7080 } as const)
  return directory.receive(manifest, { community, nowMs: NEW_YEAR_MS, monotonicMs: 0, source: 'test', reached })
}

function full(change: Partial<ManifestInput>, identity = peer): ReturnType<typeof issueManifest> {
  const { schemas: _, ...capability } = echoing
  return issueManifest(
    {
      displayName: 'peer',
      communityId: root.id,
      endpoints: [{ transport: 'http', host: '192.0.2.9', port: 7080 }],
      capabilities: [capability],
      inFlight: 0,
      uptimeSeconds: 0,
      sequence: 1,
      nowMs: NEW_YEAR_MS,
      ...change,
    },
    identity,
  )
}

function peerIn(update: PeerManifestUpdateResult): KnownPeer {
  if (update.kind !== 'heard' && update.kind !== 'old') throw new Error(JSON.stringify(update))
  return update.peer
}
