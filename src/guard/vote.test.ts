import { readFileSync } from 'node:fs'
import { ED25519_TORSION_SUBGROUP } from '@noble/curves/ed25519.js'
import { describe, expect, it } from 'vitest'
import { fromHex } from '../core/bytes.ts'
import {
  isVoterKey,
  isVoteSignatureValid,
  parseVoteBody,
  signVote,
  computeVoteHash,
  computeVoterKeyId,
  deriveVoterPublicKey,
} from './vote.ts'
import type { VoteBody } from './vote.ts'

interface Vector {
  readonly seed: string
  readonly publicKey: string
  readonly body: string
  readonly paeSha256: string
  readonly signature: string
}

const { votes } = JSON.parse(readFileSync(new URL('../../test/vectors/votes.json', import.meta.url), 'utf8')) as {
  readonly votes: readonly Vector[]
}
const [first, second] = votes as [Vector, Vector]

describe('vote', () => {
  it.each(votes)('is signed as an independent implementation signs it ($publicKey)', (vector) => {
    const { seed, publicKey, body, paeSha256, signature } = vector
    expect(deriveVoterPublicKey(fromHex(seed))).toBe(publicKey)
    expect(signVote(JSON.parse(body) as VoteBody, fromHex(seed))).toEqual({ body, signature })
    expect(computeVoteHash({ body, signature })).toBe(paeSha256)
    expect(parseVoteBody({ body, signature })?.voter).toBe(computeVoterKeyId(publicKey))
    expect(isVoteSignatureValid({ body, signature }, publicKey)).toBe(true)
  })

  it('has one valid encoding: no other key order, unknown field, white space or type', () => {
    const parsed = JSON.parse(first.body) as Record<string, unknown>
    const spellings = [
      JSON.stringify(Object.fromEntries(Object.entries(parsed).toReversed())),
      JSON.stringify({ ...parsed, more: 1 }),
      JSON.stringify(parsed, undefined, 1),
      JSON.stringify({ ...parsed, seq: '1' }),
      JSON.stringify({ ...parsed, decision: 'Allow' }),
      JSON.stringify({ ...parsed, epoch: -1 }),
      `${first.body} `,
      'null',
      '',
    ]
    expect(spellings.map((body) => parseVoteBody({ body, signature: first.signature }))).toEqual(
      spellings.map(() => undefined),
    )
  })

  it("is not valid under another voter's key or with any bit changed", () => {
    expect(isVoteSignatureValid(first, second.publicKey)).toBe(false)
    for (let index = 0; index < 64; index++) {
      const bytes = fromHex(first.signature)
      bytes[index] = (bytes[index] ?? 0) ^ (1 << (index % 8))
      expect(
        isVoteSignatureValid({ body: first.body, signature: Buffer.from(bytes).toString('hex') }, first.publicKey),
      ).toBe(false)
    }
    expect(isVoteSignatureValid({ body: second.body, signature: first.signature }, first.publicKey)).toBe(false)
    expect(isVoteSignatureValid({ body: first.body, signature: first.signature.toUpperCase() }, first.publicKey)).toBe(
      false,
    )
  })

  it('is not valid with a key or signature point of small order, or with bytes that are not a point', () => {
    const identity = `01${'00'.repeat(31)}`
    const anything = { body: first.body, signature: `${identity}${'00'.repeat(32)}` }
    for (const key of [...ED25519_TORSION_SUBGROUP, `02${'00'.repeat(31)}`, `ee${'ff'.repeat(30)}7f`, '', 'zz']) {
      expect([key, isVoterKey(key)]).toEqual([key, false])
      expect(isVoteSignatureValid(anything, key)).toBe(false)
    }
    expect(isVoteSignatureValid(anything, first.publicKey)).toBe(false)
  })
})
