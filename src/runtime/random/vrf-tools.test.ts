import { describe, expect, it } from 'vitest'
import { runtimeRig } from '../../../test/runtime-rig.ts'
import type { JsonObject } from '../../core/json.ts'
import { encodeRandomDrawInput } from '../../ledger/random-draw.ts'
import { toHex, toUtf8 } from '../../core/bytes.ts'

/** RFC 9381, appendix B.3, example 16. */
const PK = 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a'
const PI =
  '8657106690b5526245a92b003bb079ccd1a92130477671f6fc01ad16f26f723f26f8a57ccaed74ee1b190bed1f479d9727d2d0f9b005a6e456a35d4fb0daab1268a1b0db10836d9826a528ca76567805'
const BETA =
  '90cf1df3b703cce59e2a35b925d411164068269d7b2d29f3301c03dd757876ff66b71dda49d2de59d03450451af026798e8f81cd2e333de5cdf4f3e140fdd8ae'
/** L, the order of the base point (RFC 8032 § 5.1), little endian. */
const ORDER = 'edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010'

/** The answer's data, or the kind and code of its fault. */
async function callTool(tool: string, body: JsonObject): Promise<unknown> {
  const rig = await runtimeRig()
  try {
    const outcome = await rig.through(tool, body)
    if (outcome.ok) return outcome.value.data
    const { kind, code = kind } = outcome.fault
    return code === 'schema_mismatch' ? kind : code
  } finally {
    rig.close()
  }
}

const verify = (change: JsonObject): Promise<unknown> =>
  callTool('vrf_verify', { public_key_hex: PK, alpha_hex: '', proof_hex: PI, ...change })

describe('vrf_verify', () => {
  it('accepts the published example, in upper-case and lower-case hex', async () => {
    const valid = { valid: true, output_hex: BETA }
    expect(await verify({})).toEqual(valid)
    expect(await verify({ public_key_hex: PK.toUpperCase(), proof_hex: PI.toUpperCase() })).toEqual(valid)
  })

  it.each([
    ['s of the order', PI.slice(0, 96) + ORDER],
    ['s above the order', PI.slice(0, 96) + 'ff'.repeat(32)],
    ['no bytes', ''],
    ['a byte less', PI.slice(0, -2)],
    ['a point that is none', '02'.padEnd(64, '0') + PI.slice(64)],
    ['y of p and 1 more', `ee${'ff'.repeat(30)}7f${PI.slice(64)}`],
    ['the identity for Gamma', '01'.padEnd(64, '0') + PI.slice(64)],
    ['the key for Gamma', PK + PI.slice(64)],
    ['zeros', '00'.repeat(80)],
  ])('finds a proof with %s invalid', async (_, proof) => {
    expect(await verify({ proof_hex: proof })).toEqual({ valid: false })
  })

  it.each([
    ['no bytes', ''],
    ['31 bytes', PK.slice(2)],
    ['the identity', '01'.padEnd(64, '0')],
    ['a point of order 2', `ec${'ff'.repeat(30)}7f`],
    ['a point of order 4', '00'.repeat(32)],
    ['a point of order 8', '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05'],
    ['y of p', `ed${'ff'.repeat(30)}7f`],
    ['y of p and 1 more', `ee${'ff'.repeat(30)}7f`],
    ['a sign for x = 0', `01${'00'.repeat(30)}80`],
    ['no point', '02'.padEnd(64, '0')],
  ])('refuses a key of %s as INVALID_KEY', async (_, key) => {
    expect(await verify({ public_key_hex: key })).toBe('INVALID_KEY')
  })

  it.each([
    { public_key_hex: `${PK}00` },
    { proof_hex: `${PI}00` },
    { proof_hex: `0x${PI.slice(2)}` },
    { alpha_hex: 'f' },
    { alpha_hex: 'é9' },
    { alpha_hex: '00'.repeat(1_000_000) },
    { alpha_hex: 7 },
    { colour: 'red' },
  ])('refuses malformed arguments: %#', async (change) => {
    expect(await verify(change)).toBe('invalid-arguments')
  })
})

describe('vrf_eval', () => {
  it("refuses an input of a random draw, so that no caller can predict the node's draws", async () => {
    const draw = encodeRandomDrawInput({ house: 'ed25519:AA', epoch: 0, purpose: 'sample', number: 7 })
    expect(await callTool('vrf_eval', { alpha_hex: toHex(draw) })).toBe('invalid-arguments')
    expect(await callTool('vrf_eval', { alpha_hex: toHex(toUtf8('whose turn it is')) })).toMatchObject({
      suite: 'ECVRF-EDWARDS25519-SHA512-TAI',
    })
  })
})
