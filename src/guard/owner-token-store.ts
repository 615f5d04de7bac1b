/**
 * Owner token: the credential of this machine's owner, in a file that only they can read. The CLI approves with it, so
 * agents must not be able to read it.
 */
import { existsSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { randomUUID } from 'node:crypto'
import { dirname } from 'node:path'
import { FileUnusableError, readBoundedFile } from '../core/bounded-file-store.ts'
import { toHex } from '../core/bytes.ts'
import { createPrivateFolder } from '../core/folder-store.ts'
import { readSystemErrorCode } from '../core/thrown-error.ts'
import type { CacheFinding } from '../ledger/ledger-finding.ts'
import type { StoredContentCheck } from '../ledger/projection.ts'
import { hashAccessToken, isAccessToken, generateAccessTokenText, isSameHash } from './access-token.ts'
import { guardProjection, readOwnerTokenHash } from './guard-state.ts'
import type { GuardState } from './guard-state.ts'

export interface OwnerTokenVerifier {
  readonly matches: (token: string) => boolean
  /** The token as it was when the gateway started. */
  readonly token: string
}

/** The message says what to do. */
export class OwnerTokenUnusableError extends Error {}

const OWNER_ONLY = 0o600
const OTHERS = 0o077

/** What the log records about the owner's token. */
export interface OwnerTokenHashLog {
  /** The hash, in hex, of the newest token that this node made. */
  readonly known: () => string | undefined
  /** Resolves when it is durable. */
  readonly record: (tokenHash: string) => Promise<void>
}

/**
 * Creates the file when it is missing, and records that. Throws, with what to do, when other users can read the file,
 * or when it holds another token than the newest that this node made: a program that can write this file must not
 * become the owner by it.
 */
export async function loadOrCreateOwnerTokenVerifier(
  path: string,
  { known, record }: OwnerTokenHashLog,
): Promise<OwnerTokenVerifier> {
  if (!existsSync(path)) await create(path, record)
  const token = readOwnerToken(path)
  const hash = hashAccessToken(token)
  if (toHex(hash) !== known())
    throw new OwnerTokenUnusableError(
      `${path} is not the token that this node made. Remove the file; the next start makes a new one.`,
    )
  return { token, matches: (shown) => isSameHash(hashAccessToken(shown), hash) }
}

/** The kind of the entry that says which token the owner has: `{kind, token_hash}`. */
export const OWNER_TOKEN_ENTRY_KIND = 'owner.token'

/** Compares the file with what the log says of it. */
export function createOwnerTokenFileCheck(path: string): StoredContentCheck {
  return (state) => {
    const known = readOwnerTokenHash(state(guardProjection))
    if (known === undefined) return []
    const differs: readonly CacheFinding[] = [{ kind: 'copy-unfounded', what: 'token of the owner', id: path }]
    try {
      return toHex(hashAccessToken(readOwnerToken(path))) === known ? [] : differs
    } catch (error) {
      // A missing file is created again by the next start.
      return readSystemErrorCode(error) === 'ENOENT' ? [] : differs
    }
  }
}

/** Whether the content of the file is the newest token that this node made, as the log says. */
export function isNewestOwnerToken(state: GuardState, text: string): boolean {
  return toHex(hashAccessToken(text.trim())) === readOwnerTokenHash(state)
}

/** The credential itself, for the CLI. */
export function readOwnerToken(path: string): string {
  const mode = statSync(path).mode & 0o777
  if ((mode & OTHERS) !== 0)
    throw new OwnerTokenUnusableError(
      `${path} can be read by others (mode ${mode.toString(8)}). Run: chmod 600 ${path}`,
    )
  const token = readTokenText(path)
  if (!isAccessToken(token))
    throw new OwnerTokenUnusableError(`${path} holds no token. Remove the file; the next start makes a new one.`)
  return token
}

/** A token has some fifty bytes. */
const MAX_TOKEN_BYTES = 4_096

function readTokenText(path: string): string {
  try {
    return readBoundedFile(path, MAX_TOKEN_BYTES).toString().trim()
  } catch (error) {
    if (error instanceof FileUnusableError) return ''
    throw error
  }
}

/** The hash is recorded first: after a crash in between there is no file, and the next start makes another token. */
async function create(path: string, record: OwnerTokenHashLog['record']): Promise<void> {
  const token = generateAccessTokenText()
  await record(toHex(hashAccessToken(token)))
  createPrivateFolder(dirname(path))
  // The temporary name cannot be guessed and never exists yet: through a planted link the token would be written
  // elsewhere.
  const draft = `${path}.${randomUUID()}.new`
  writeFileSync(draft, `${token}\n`, { mode: OWNER_ONLY, flush: true, flag: 'wx' })
  renameSync(draft, path)
}
