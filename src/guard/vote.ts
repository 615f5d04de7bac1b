/**
 * Vote: one voter's signed yes or no to one exact call.
 *
 *   "DSSEv1" SP len(type) SP type SP len(body) SP body        signed with Ed25519; body is RFC 8785 JSON
 *
 * The type is inside what is signed, so a vote cannot be used as anything else, nor anything else as a vote. House,
 * epoch and approval say where it counts; `seq` and `prev` chain a voter's votes, so that contradictory votes are
 * detected.
 */
import { createPublicKey, hash, sign, verify } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { ed25519 } from '@noble/curves/ed25519.js'
import { z } from 'zod'
import { toBase64url, concatBytes, fromHex, toHex, toUtf8 } from '../core/bytes.ts'
import { createEd25519PrivateKey, deriveEd25519PublicKey } from '../core/ed25519-key.ts'
import { canonicalJson } from '../core/json.ts'

export type VoteDecision = 'allow' | 'deny'

const VOTE_TYPE = 'application/vnd.hearthbus.vote+json;v=1'
export const FIRST_VOTE_PREVIOUS_HASH = '0'.repeat(64)

const hash64 = z.string().regex(/^[0-9a-f]{64}$/)
const voteBody = z.strictObject({
  approval: z.string().min(1).max(64),
  /** The digest of the call that is voted on. */
  call: hash64,
  decision: z.enum(['allow', 'deny']),
  epoch: z.int().min(0),
  /** When the vote expires, in seconds since 1970. */
  expires: z.int(),
  house: z.string().min(1).max(64),
  issued: z.int(),
  prev: hash64,
  seq: z.int().min(1),
  voter: z.string().regex(/^key_[0-9a-f]{16}$/),
})

export type VoteBody = z.output<typeof voteBody>

/** A vote as it is stored and sent. */
export interface SignedVote {
  /** The exact text that is signed. */
  readonly body: string
  /** Hexadecimal. */
  readonly signature: string
}

export function signVote(body: VoteBody, seed: Uint8Array): SignedVote {
  const text = canonicalJson(voteBody.parse(body))
  return { body: text, signature: toHex(sign(null, encodedVote(text), createEd25519PrivateKey(seed))) }
}

/** `undefined` for anything but the canonical form of a vote: unknown fields and another order are refused. */
export function parseVoteBody({ body }: SignedVote): VoteBody | undefined {
  try {
    const parsed = voteBody.safeParse(JSON.parse(body))
    return parsed.success && canonicalJson(parsed.data) === body ? parsed.data : undefined
  } catch {
    return undefined
  }
}

/**
 * Signatures that were found valid. Votes are checked when they arrive, when they are recorded and when the log is
 * read. Bounded.
 */
const checked = new Set<string>()
const MAX_CHECKED = 8_192

/** Strict (RFC 8032): neither key nor point may be of small order, and both must have the canonical encoding. */
export function isVoteSignatureValid({ body, signature }: SignedVote, key: string): boolean {
  if (!/^[0-9a-f]{128}$/.test(signature) || !isVoterKey(key)) return false
  const id = `${key}${signature}${hash('sha256', body)}`
  if (checked.has(id)) return true
  const bytes = fromHex(signature)
  if (isSmall(bytes.subarray(0, 32))) return false
  if (!verify(null, encodedVote(body), publicKey(key), bytes)) return false
  if (checked.size >= MAX_CHECKED) checked.clear()
  checked.add(id)
  return true
}

/** Cached, because a voter's key is checked often and never changes. */
const goodKeys = new Set<string>()

export function isVoterKey(key: string): boolean {
  if (goodKeys.has(key)) return true
  if (!/^[0-9a-f]{64}$/.test(key) || isSmall(fromHex(key))) return false
  if (goodKeys.size >= MAX_CHECKED) goodKeys.clear()
  goodKeys.add(key)
  return true
}

/** Whether it is a point of small order, or no point at all. */
function isSmall(bytes: Uint8Array): boolean {
  try {
    return ed25519.Point.fromBytes(bytes, false).isSmallOrder()
  } catch {
    return true
  }
}

/** The newest vote of a voter, which its next one names. */
export interface VoteChainHead {
  readonly seq: number
  readonly hash: string
}

export function computeVoteHash({ body }: SignedVote): string {
  return hash('sha256', encodedVote(body))
}

export function computeVoterKeyId(key: string): string {
  return `key_${key.slice(0, 16)}`
}

export function deriveVoterPublicKey(seed: Uint8Array): string {
  return toHex(deriveEd25519PublicKey(seed))
}

function publicKey(key: string): KeyObject {
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: toBase64url(fromHex(key)) }, format: 'jwk' })
}

/** DSSE's pre-authentication encoding. */
function encodedVote(text: string): Uint8Array {
  const bytes = toUtf8(text)
  return concatBytes(toUtf8(`DSSEv1 ${VOTE_TYPE.length} ${VOTE_TYPE} ${bytes.length} `), bytes)
}
