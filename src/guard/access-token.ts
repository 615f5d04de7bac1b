/**
 * Access token: a bearer credential. The random text is shown once; only its hash is stored.
 *
 *   hb_Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmE     32 random bytes, base64url
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { PRINCIPAL_ROLES } from '../bus/call.ts'
import type { CredentialRestrictions, PrincipalRole } from '../bus/call.ts'
import { toBase64url } from '../core/bytes.ts'
import { DEVICE_TARGET_FORMAT_HINT, DEVICE_TARGET_PATTERN } from '../core/device-target-pattern.ts'
import { isEffectName } from './call-permission.ts'

export interface AccessTokenRecord {
  /** The principal's id. Only one live token has it at a time. */
  readonly name: string
  readonly role: PrincipalRole
  readonly restrictions: CredentialRestrictions | undefined
  readonly createdAtMs: number
  readonly createdBy: string
  readonly expiresAtMs: number | undefined
  readonly lastUsedAtMs: number | undefined
  readonly revokedAtMs: number | undefined
  /** Whether the log says that its time was over; it stays so when the clock is set back. */
  readonly hasExpired: boolean
}

export interface AccessTokenRequest {
  readonly name: string
  readonly role: PrincipalRole
  readonly restrictions?: CredentialRestrictions
  /** Absent: valid until it is revoked. */
  readonly ttlMs?: number
}

const MAX_TTL_MS = 10 * 365 * 86_400_000
const MAX_NARROWINGS = 64
const MAX_NARROWING = 200

const TOKEN = /^hb_[A-Za-z0-9_-]{43}$/
const RANDOM_BYTES = 32

/** A name has no colon, because `peer:` and `service:` mark other kinds of caller. */
const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/
/**
 * Reserved names: callers without a token, the holder of the owner's file, and people who sign in at the console with a
 * link.
 */
const RESERVED = /^(?:local|owner|console(?:-\w+)?)$/

export function generateAccessTokenText(): string {
  return `hb_${toBase64url(randomBytes(RANDOM_BYTES))}`
}

export function isAccessToken(text: string): boolean {
  return TOKEN.test(text)
}

/** A token has 256 random bits, which cannot be guessed, so a plain hash protects it. */
export function hashAccessToken(token: string): Uint8Array {
  return new Uint8Array(hash('sha256', token, 'buffer'))
}

export function isSameHash(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && timingSafeEqual(left, right)
}

/** What is wrong with a token that somebody wants to make, or `undefined`. */
export function explainAccessTokenRequestFlaw({
  name,
  role,
  restrictions,
  ttlMs,
}: AccessTokenRequest): string | undefined {
  if (!PRINCIPAL_ROLES.includes(role)) return 'the role is observer, agent, approver or admin'
  if (ttlMs !== undefined && !(ttlMs > 0 && ttlMs <= MAX_TTL_MS))
    return 'it lasts longer than zero and at most ten years'
  const { effects, devices, profiles } = restrictions ?? {}
  if (effects?.every(isEffectName) === false) return 'effects are reads, records, writes, sensitive and admin'
  const names = [...(devices ?? []), ...(profiles ?? [])]
  if (names.length > MAX_NARROWINGS || names.some((text) => text === '' || text.length > MAX_NARROWING))
    return `it is narrowed to at most ${MAX_NARROWINGS} devices and profiles, by names of at most ${MAX_NARROWING} characters`
  const invalidDevice = devices?.find((device) => !DEVICE_TARGET_PATTERN.test(device))
  if (invalidDevice !== undefined)
    return `a token is narrowed to ${DEVICE_TARGET_FORMAT_HINT}; ${JSON.stringify(invalidDevice)} is none`
  return nameFlaw(name)
}

/**
 * What is wrong with the profiles of a requested token, checked by a caller that knows which exist; a token for an
 * unknown profile could call nothing.
 */
export function explainUnknownTokenProfile(
  { restrictions }: AccessTokenRequest,
  known: readonly string[],
): string | undefined {
  const unknownProfile = restrictions?.profiles?.find((profile) => !known.includes(profile))
  if (unknownProfile === undefined) return undefined
  return `There is no profile ${JSON.stringify(unknownProfile)}. There are: ${known.join(', ')}.`
}

/** What is wrong with a name, or `undefined`. */
function nameFlaw(name: string): string | undefined {
  if (RESERVED.test(name)) return `${name} is a name that this node gives itself`
  if (!NAME.test(name)) return 'a name has lower-case letters, digits, dots, dashes and underscores, at most 64'
  return undefined
}

export function isAccessTokenLive(
  record: Pick<AccessTokenRecord, 'revokedAtMs' | 'expiresAtMs' | 'hasExpired'>,
  nowMs: number,
): boolean {
  if (record.revokedAtMs !== undefined || record.hasExpired) return false
  return record.expiresAtMs === undefined || nowMs < record.expiresAtMs
}
