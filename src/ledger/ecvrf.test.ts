import { readFileSync } from 'node:fs'
import { ed25519, ED25519_TORSION_SUBGROUP } from '@noble/curves/ed25519.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { concatBytes, fromHex, toHex } from '../core/bytes.ts'
import { isVrfPublicKey, computeVrfOutput, createVrfProof, deriveVrfPublicKey, verifyVrfProof } from './ecvrf.ts'

interface Vector {
  readonly example: number
  readonly sk: string
  readonly pk: string
  readonly alpha: string
  readonly pi: string
  readonly beta: string
}

const { vectors } = JSON.parse(readFileSync(new URL('../../test/vectors/ecvrf.json', import.meta.url), 'utf8')) as {
  readonly vectors: readonly Vector[]
}
const [first] = vectors
if (first === undefined) throw new Error('no vectors')

describe('ECVRF', () => {
  it.each(vectors)('gives key, proof and output of RFC 9381, example $example', ({ sk, pk, alpha, pi, beta }) => {
    const secret = fromHex(sk)
    expect(toHex(deriveVrfPublicKey(secret))).toBe(pk)
    const proof = createVrfProof(secret, fromHex(alpha))
    expect(toHex(proof)).toBe(pi)
    expect(toHex(computeVrfOutput(proof))).toBe(beta)
    expect(toHex(verifyVrfProof(fromHex(pk), fromHex(alpha), proof) ?? new Uint8Array())).toBe(beta)
  })

  it('refuses a proof with one changed bit or another length', () => {
    const [key, alpha, proof] = [fromHex(first.pk), fromHex(first.alpha), fromHex(first.pi)]
    for (let index = 0; index < proof.length; index++) {
      const changed = proof.slice()
      changed[index] = (changed[index] ?? 0) ^ (1 << (index % 8))
      expect(verifyVrfProof(key, alpha, changed)).toBeUndefined()
    }
    expect(verifyVrfProof(key, alpha, proof.subarray(0, 79))).toBeUndefined()
    expect(verifyVrfProof(key, alpha, concatBytes(proof, Uint8Array.of(0)))).toBeUndefined()
    expect(verifyVrfProof(key, Uint8Array.of(1), proof)).toBeUndefined()
  })

  it('refuses the proof of the older draft, whose challenge does not include the key', () => {
    // Example 16 as repositories have it under the RFC's name: the same point, another challenge.
    const old = `${first.pi.slice(0, 64)}5e8bd1839b41${first.pi.slice(76)}`
    expect(verifyVrfProof(fromHex(first.pk), fromHex(first.alpha), fromHex(old))).toBeUndefined()
  })

  it('refuses a proof with s + q, a second encoding of the same proof', () => {
    const proof = fromHex(first.pi)
    const s = [...proof.subarray(48)].reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n)
    const more = s + ed25519.Point.Fn.ORDER
    const tail = Uint8Array.from({ length: 32 }, (_, index) => Number((more >> BigInt(8 * index)) & 0xffn))
    expect(
      verifyVrfProof(fromHex(first.pk), fromHex(first.alpha), concatBytes(proof.subarray(0, 48), tail)),
    ).toBeUndefined()
  })

  it('refuses keys of small order, non-canonical encodings and bytes that are not a curve point', () => {
    for (const key of ED25519_TORSION_SUBGROUP) expect([key, isVrfPublicKey(fromHex(key))]).toEqual([key, false])
    // y = p + 1 means the identity a second time (RFC 8032 § 5.1.3 refuses it).
    expect(isVrfPublicKey(fromHex(`ee${'ff'.repeat(30)}7f`))).toBe(false)
    expect(isVrfPublicKey(fromHex(`02${'00'.repeat(31)}`))).toBe(false)
    expect(isVrfPublicKey(new Uint8Array(31))).toBe(false)
    expect(
      verifyVrfProof(fromHex(ED25519_TORSION_SUBGROUP[0] ?? ''), new Uint8Array(), fromHex(first.pi)),
    ).toBeUndefined()
  })

  it('gives a proof that only the right public key verifies', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        fc.uint8Array({ maxLength: 64 }),
        (secret, other, alpha) => {
          const proof = createVrfProof(secret, alpha)
          expect(verifyVrfProof(deriveVrfPublicKey(secret), alpha, proof)).toEqual(computeVrfOutput(proof))
          fc.pre(toHex(secret) !== toHex(other))
          expect(verifyVrfProof(deriveVrfPublicKey(other), alpha, proof)).toBeUndefined()
        },
      ),
      { numRuns: 20 },
    )
  })
})
