/**
 * Body opening: the body that an entry's `body_hash` commits to, for callers that may read it. A proof carries it in
 * its `extra` line.
 *
 *   {"body":"{\"args\":{…}}","salt":"5f3a…"}      canonical JSON; `body` is text, because its very bytes were hashed
 *
 *   hex SHA-256(salt ‖ UTF-8 of body) = body_hash of the entry
 */
import { fromHex, fromUtf8, toHex, toUtf8 } from '../core/bytes.ts'
import { canonicalJson, isJsonObject, parseJsonOrUndefined } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { decodeEntryBody, matchesBodyCommitment } from './entry-group.ts'
import type { SaltedBody } from './entry-group.ts'

export type CommitmentOpeningFault = 'no-opening' | 'not-committed'

export interface CommitmentOpening {
  readonly salt: string
  readonly body: string
}

export function createCommitmentOpening({ salt, body }: SaltedBody): CommitmentOpening {
  return { salt: toHex(salt), body: fromUtf8(body) ?? '' }
}

export function encodeCommitmentOpening(stored: SaltedBody): Uint8Array {
  return toUtf8(canonicalJson(createCommitmentOpening(stored)))
}

const SALT = /^[0-9a-f]{64}$/

/** Returns the body once it is verified to be the one that the entry commits to. */
export function verifyCommitmentOpening(opening: Uint8Array, entry: Uint8Array): Result<Json, CommitmentOpeningFault> {
  const value = parseJsonOrUndefined(fromUtf8(opening))
  if (!isJsonObject(value)) return fail('no-opening')
  const { salt, body } = value
  if (typeof salt !== 'string' || typeof body !== 'string' || !SALT.test(salt) || Object.keys(value).length > 2)
    return fail('no-opening')
  const stored = { salt: fromHex(salt), body: toUtf8(body) }
  const content = decodeEntryBody(stored.body)
  return content !== undefined && matchesBodyCommitment(entry, stored) ? ok(content) : fail('not-committed')
}
