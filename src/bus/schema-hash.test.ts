import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { offered } from '../../test/bus-village.ts'
import type { JsonSchema, CapabilityVersion } from './capability.ts'
import { computeCapabilityInstanceId, computeSchemaHash, encodeSchemaHashInput } from './schema-hash.ts'

interface Vector {
  readonly about: string
  readonly contract: {
    readonly name: string
    readonly version: CapabilityVersion
    readonly request_schema: JsonSchema
    readonly response_schema: JsonSchema | null
    readonly stream_schema: JsonSchema | null
  }
  readonly canonical: string
  readonly canonicalBytes: number
  readonly hash: string
}

const { vectors } = JSON.parse(
  readFileSync(new URL('../../test/vectors/schema-hash.json', import.meta.url), 'utf8'),
) as { readonly vectors: readonly Vector[] }

describe('schema hash', () => {
  it.each(vectors)('agrees with the published vector: $about', ({ contract, canonical, canonicalBytes, hash }) => {
    const descriptor = {
      name: contract.name,
      version: contract.version,
      requestSchema: contract.request_schema,
      responseSchema: contract.response_schema ?? undefined,
      streamSchema: contract.stream_schema ?? undefined,
    }
    expect(encodeSchemaHashInput(descriptor)).toBe(canonical)
    expect(Buffer.byteLength(canonical)).toBe(canonicalBytes)
    expect(computeSchemaHash(descriptor)).toBe(hash)
  })

  // test_schema_hash_stable_across_runs
  it('schema hash stable across runs', () => {
    const offer = offered({ name: 'echo.say', requestSchema: {}, responseSchema: undefined })
    expect(computeSchemaHash(offer)).toBe(vectors[0]?.hash)
    expect(computeSchemaHash({ ...offer })).toBe(computeSchemaHash(offer))
  })

  // test_schema_hash_changes_on_schema_change
  it('schema hash changes on schema change', () => {
    const base = offered({ name: 'echo.say' })
    const changed = [
      { ...base, name: 'echo.sing' },
      { ...base, version: [1, 1] as const },
      { ...base, requestSchema: { type: 'object', minProperties: 1 } },
      { ...base, responseSchema: undefined },
      { ...base, streamSchema: {} },
    ]
    expect(new Set([base, ...changed].map(computeSchemaHash)).size).toBe(6)
  })

  it('does not depend on params, trust, limits or time-outs', () => {
    const base = offered({ name: 'echo.say' })
    const limits = { params: { model: 'm' }, trustRequired: 'self', maxConcurrent: 1, timeoutSeconds: 1 } as const
    expect(computeSchemaHash(offered({ name: 'echo.say', idempotent: false, ...limits }))).toBe(computeSchemaHash(base))
  })

  it('does not depend on the order of keys', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 6 }), (schema) => {
        const turned = Object.fromEntries(Object.entries(schema).toReversed())
        const of = (requestSchema: JsonSchema): string => computeSchemaHash(offered({ name: 'x', requestSchema }))
        expect(of(turned)).toBe(of(schema))
      }),
    )
  })

  it('reads the params of an instance once for its id', () => {
    let read = 0
    const params = {
      get device() {
        read += 1
        return 'lamp'
      },
    }
    expect(computeCapabilityInstanceId(params)).toBe(computeCapabilityInstanceId({ device: 'lamp' }))
    const before = read
    expect(computeCapabilityInstanceId(params)).toBe(computeCapabilityInstanceId({ device: 'lamp' }))
    expect(read).toBe(before)
  })

  it('derives the instance id from the params', () => {
    expect(computeCapabilityInstanceId({})).toBe('default')
    expect(computeCapabilityInstanceId({ model: 'a', ctx: 1 })).toBe(
      computeCapabilityInstanceId({ ctx: 1, model: 'a' }),
    )
    expect(computeCapabilityInstanceId({ model: 'a' })).not.toBe(computeCapabilityInstanceId({ model: 'b' }))
    expect(computeCapabilityInstanceId({ model: 'a' })).toMatch(/^[0-9a-f]{16}$/)
  })
})
