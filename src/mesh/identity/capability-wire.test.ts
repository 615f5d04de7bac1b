import { describe, expect, it } from 'vitest'
import { offered } from '../../../test/bus-village.ts'
import { describeOwnCapability } from '../../bus/peer.ts'
import type { PeerCapability } from '../../bus/peer.ts'
import { encodeCapability, decodeWireCapability, wireCapabilitySchema } from './capability-wire.ts'
import { computeCapabilitiesHash, parseAnnouncedCapabilities } from './node-manifest.ts'

/** Schemas are fetched by their hash; everything else of a capability is in the manifest. */
type Announced = Required<Omit<PeerCapability, 'schemas'>>

const everything: Announced = {
  name: 'door.open',
  version: [2, 3],
  stability: 'beta',
  schemaHash: `blake3:${'0a'.repeat(32)}`,
  params: { lock: 'brass' },
  maxConcurrent: 3,
  trustRequired: 'trusted',
  timeoutSeconds: 12.5,
  idempotent: true,
  stream: true,
  effect: 'sensitive',
  anywhere: true,
  family: 'homeseer',
  face: { kind: 'prompt', arguments: [{ name: 'door', description: 'Which one.', required: true }] },
  title: 'Open a door',
  description: 'Unlocks a door and opens it.',
  matches: { lock: 'equals' },
  secrets: ['combination', 'greeting'],
  instanceId: 'brass-1',
}

describe('capability on the wire', () => {
  it('decodes to the same capability', () => {
    expect(overTheWire(everything)).toEqual(everything)
  })

  it('omits secrets when there are none, so that its hash does not change', () => {
    const plain = describeOwnCapability(offered({ name: 'light.read' }))
    expect(encodeCapability(plain)).not.toHaveProperty('secrets')
    expect(encodeCapability({ ...plain, secrets: [] })).toEqual(encodeCapability(plain))
  })

  it('ignores unknown members of a later version but includes them in the hash', () => {
    const later = [{ ...encodeCapability(everything), colour: 'brass' }]
    expect(parseAnnouncedCapabilities(later, computeCapabilitiesHash(later))).toEqual([everything])
  })

  it.each([
    ['too many', Array.from({ length: 65 }, () => 'pin')],
    ['too long', ['p'.repeat(129)]],
    ['no names', [7]],
  ])('refuses secrets that are %s', (_, secrets) => {
    expect(wireCapabilitySchema.safeParse({ ...encodeCapability(everything), secrets }).success).toBe(false)
  })
})

function overTheWire(capability: PeerCapability): PeerCapability {
  return decodeWireCapability(wireCapabilitySchema.parse(JSON.parse(JSON.stringify(encodeCapability(capability)))))
}
