/**
 * Thought: one record of the decision trail, its hash chain, and the statement that its author may sign.
 *
 *   hash = hex SHA-256( canonical JSON {id, type, task_id, content, timestamp, prev_hash} )
 *   prev_hash = hash of the task's record before it, or 64 zeros
 *
 * Existing clients verify with this formula. It covers neither author nor session; the ledger entry of the record
 * (`log_index`) commits to these, and to the order among tasks.
 */
import { createPublicKey, hash, verify } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { z } from 'zod'
import { toBase64, toBase64url, fromBase64, toUtf8 } from '../../core/bytes.ts'
import { canonicalJson } from '../../core/json.ts'
import { isVrfPublicKey } from '../../ledger/ecvrf.ts'

export const THOUGHT_TYPES = ['plan', 'analysis', 'decision', 'reflection'] as const
export type ThoughtType = (typeof THOUGHT_TYPES)[number]

/** The `prev_hash` of the first record of a task. */
export const THOUGHT_CHAIN_GENESIS_HASH = '0'.repeat(64)

/** The six hashed fields; with a seventh, every existing client would consider every record broken. */
export interface ThoughtHashInput {
  readonly id: string
  readonly type: ThoughtType
  readonly task_id: string
  readonly content: string
  readonly timestamp: string
  readonly prev_hash: string
}

export function computeThoughtHash({ id, type, task_id, content, timestamp, prev_hash }: ThoughtHashInput): string {
  return hash('sha256', toUtf8(canonicalJson({ id, type, task_id, content, timestamp, prev_hash })))
}

export interface ThoughtToSign {
  readonly agent_id: string
  readonly content: string
  readonly task_id: string
  readonly type: ThoughtType
}

/** The statement that an author signs: the text and whose it is; the server assigns id and time. */
export function encodeThoughtToSign({ agent_id, content, task_id, type }: ThoughtToSign): Uint8Array {
  // The prefix makes a signature over another statement invalid as one over a thought, and the reverse.
  return toUtf8(`hearthbus-thought-v1\n${canonicalJson({ agent_id, content, task_id, type })}`)
}

/** The length of Ed25519 (RFC 8032), in base64 with its padding: one spelling per key, so that keys compare as text. */
export const publicKeyArgument = z
  .string()
  .regex(/^[A-Za-z0-9+/]{43}=$/, 'base64 of 32 bytes')
  .describe('Ed25519 public key of the agent, 32 bytes in base64.')

export const signatureArgument = z.strictObject({
  public_key: publicKeyArgument,
  value: z
    .string()
    .regex(/^[A-Za-z0-9+/]{86}==$/, 'base64 of 64 bytes')
    .describe(
      'Ed25519 signature, 64 bytes in base64, over "hearthbus-thought-v1\\n" and the canonical JSON (RFC 8785) of {agent_id, content, task_id, type}.',
    ),
})

export type ThoughtSignature = z.output<typeof signatureArgument>

export function isThoughtSignedBy(statement: ThoughtToSign, { public_key, value }: ThoughtSignature): boolean {
  const [key, signature] = [keyFrom(public_key), fromBase64(value)]
  if (key === undefined || signature === undefined) return false
  return verify(null, encodeThoughtToSign(statement), key, signature)
}

/** Whether it can be somebody's public key: a point of the curve, in its one spelling, and not of small order. */
export function isPublicKey(publicKey: string): boolean {
  const bytes = fromBase64(publicKey)
  return bytes !== undefined && toBase64(bytes) === publicKey && isVrfPublicKey(bytes)
}

function keyFrom(publicKey: string): KeyObject | undefined {
  const bytes = fromBase64(publicKey)
  if (bytes === undefined) return undefined
  try {
    return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: toBase64url(bytes) }, format: 'jwk' })
  } catch {
    // These 32 bytes are not a point of the curve.
    return undefined
  }
}

export const thoughtOutputSchema = z.object({
  id: z.string(),
  type: z.enum(THOUGHT_TYPES),
  task_id: z.string(),
  agent_id: z.string(),
  content: z.string().nullable().describe('null once it was erased; the hashes remain.'),
  timestamp: z.string(),
  prev_hash: z.string(),
  hash: z.string(),
  session_id: z.string().nullable(),
  recorded_by: z.string().describe('Whose credential the call came with; `agent_id` is only what it claimed.'),
  client: z.string().nullable().describe('What the program called itself; nobody proves it.'),
  signed: z.boolean().describe('Whether the agent proved with its key that the words are its own.'),
  log_index: z.int().describe('Its entry in the ledger; see ledger_proof.'),
  leaf_hash: z.string(),
})

export type Thought = z.output<typeof thoughtOutputSchema>
