import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { identityOf, NEW_YEAR_MS, vectors } from '../../../test/mesh-keys.ts'
import type { JsonObject } from '../../core/json.ts'
import { issueManifest, isGoodbyeManifest, parseNodeManifest, omitManifestCapabilities } from './node-manifest.ts'
import type { ManifestInput } from './node-manifest.ts'
import { encodeTextToSign } from './signed-document.ts'

const node = identityOf(1)
const published = vectors.manifest.document as JsonObject

const facts: ManifestInput = {
  displayName: 'cellar',
  communityId: identityOf(2).id,
  endpoints: [],
  capabilities: [],
  inFlight: 0,
  uptimeSeconds: 0,
  sequence: 1,
  nowMs: NEW_YEAR_MS,
}

describe('node manifest', () => {
  it('parses the published manifest and computes the same text to sign', () => {
    const read = parseNodeManifest(published, NEW_YEAR_MS)
    if (!read.ok) throw new Error(JSON.stringify(read.fault))
    expect(read.value).toMatchObject({ nodeId: node.id, sequence: 7, displayName: 'cellar' })
    expect(read.value.capabilities?.map(({ name }) => name)).toEqual(['test.echo'])
    expect(encodeTextToSign(published, ['capabilities'])).toBe(vectors.manifest.signed_text)
  })

  it('is valid without its capabilities, because the signature covers their hash', () => {
    expect(parseNodeManifest(omitManifestCapabilities(published), NEW_YEAR_MS)).toMatchObject({
      ok: true,
      value: { capabilities: undefined },
    })
  })

  it('is invalid when its capabilities were changed', () => {
    const [first] = published['capabilities'] as JsonObject[]
    const forged = { ...published, capabilities: [{ ...first, trust_required: 'anchor' }] }
    expect(parseNodeManifest(forged, NEW_YEAR_MS)).toMatchObject({ fault: { kind: 'bad-signature' } })
  })

  it('is invalid when any other field was changed', () => {
    const fields = Object.keys(published).filter((field) => !['capabilities', 'signature'].includes(field))
    fc.assert(
      fc.property(fc.constantFrom(...fields), fc.jsonValue(), (field, value) => {
        fc.pre(JSON.stringify(value) !== JSON.stringify(published[field]))
        expect(parseNodeManifest({ ...published, [field]: value as never }, NEW_YEAR_MS).ok).toBe(false)
      }),
    )
  })

  it('is accepted with a clock difference of one minute, and refused above that', () => {
    const issued = issueManifest(facts, node)
    const readAt = (offsetMs: number): string | undefined => {
      const read = parseNodeManifest(issued, NEW_YEAR_MS + offsetMs)
      return read.ok ? 'ok' : read.fault.kind
    }
    expect([-61_000, -60_000, 0, 90_000, 91_000].map(readAt)).toEqual(['from-the-future', 'ok', 'ok', 'ok', 'expired'])
  })

  it('with a lifetime of zero is a goodbye', () => {
    const read = parseNodeManifest(issueManifest({ ...facts, lifeMs: 0 }, node), NEW_YEAR_MS)
    expect(read.ok && isGoodbyeManifest(read.value)).toBe(true)
  })

  it('returns a fault for any value that is not a manifest', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        expect(parseNodeManifest(value, NEW_YEAR_MS).ok).toBe(false)
      }),
    )
  })
})
