/**
 * Prepared change: a change that waits to be committed, under a token that only its caller has.
 *
 *   prepared ──take──▶ committing ──▶ committed | failed | unknown
 *    │   ▲                │  └──restart──▶ unknown
 *    │   └────release─────┘  nothing was tried
 *    └──time──▶ lapsed
 *
 * Staged arguments may hold passwords and must survive a restart, so they are sealed with a key made from the token, of
 * which only the hash is stored. A reader of the database learns nothing; the holder of the token can commit.
 *
 * Uses the system's random number generator; otherwise pure.
 */
import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes } from 'node:crypto'
import { toBase64url, concatBytes, toUtf8 } from '../core/bytes.ts'
import { canonicalJson, isJsonObject } from '../core/json.ts'
import type { JsonObject } from '../core/json.ts'

export type PreparedChangeState = 'prepared' | 'committing' | 'committed' | 'failed' | 'unknown'

/** How a commit ended. */
export type PreparedChangeResultState = 'committed' | 'failed' | 'unknown'

export interface PreparedChange {
  readonly tool: string
  readonly args: JsonObject
  readonly summary: string
  readonly preparedAtMs: number
  readonly expiresAtMs: number
  /** The ledger entry in which it was prepared. */
  readonly preparedSeq: number
}

const TOKEN = /^chg_[A-Za-z0-9_-]{43}$/
const RANDOM_BYTES = 32
const CIPHER = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16

export function mintChangeToken(): string {
  return `chg_${toBase64url(randomBytes(RANDOM_BYTES))}`
}

export function isChangeToken(text: string): boolean {
  return TOKEN.test(text)
}

/** The change's name in the ledger, which cannot be used to commit it. */
export function deriveChangeIdFromToken(token: string): string {
  return hash('sha256', token).slice(0, 32)
}

/** The sealed arguments: iv ‖ tag ‖ ciphertext. */
export function encryptChangeArguments(token: string, args: JsonObject): Uint8Array {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv(CIPHER, sealingKey(token), iv)
  const text = concatBytes(cipher.update(toUtf8(canonicalJson(args))), cipher.final())
  return concatBytes(iv, cipher.getAuthTag(), text)
}

/**
 * Throws on anything that `encryptChangeArguments` did not make with this token. The row was found by the token's own
 * hash, so a failure means that somebody changed it.
 */
export function decryptChangeArguments(token: string, sealed: Uint8Array): JsonObject {
  const decipher = createDecipheriv(CIPHER, sealingKey(token), sealed.subarray(0, IV_BYTES), {
    authTagLength: TAG_BYTES,
  })
  decipher.setAuthTag(sealed.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
  const text = concatBytes(decipher.update(sealed.subarray(IV_BYTES + TAG_BYTES)), decipher.final())
  const args: unknown = JSON.parse(Buffer.from(text).toString('utf8'))
  if (!isJsonObject(args)) throw new TypeError('sealed arguments are no object')
  return args
}

function sealingKey(token: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', token, '', 'hearthbus change arguments', RANDOM_BYTES))
}
