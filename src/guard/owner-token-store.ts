/**
 * Owner token: the credential of whoever owns this machine, in a file that only they can read. The CLI approves with
 * it, so it must not be the agents' to take.
 */
import { existsSync, linkSync, readFileSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { makeFolder } from '../core/folder-store.ts'
import { hashToken, isToken, mintToken, sameHash } from './token.ts'

export interface OwnerToken {
  readonly matches: (token: string) => boolean
}

/** The message says what to do. */
export class OwnerTokenUnusable extends Error {}

const OWNER_ONLY = 0o600
const OTHERS = 0o077

/** Makes the file when it is missing. Throws, with what to do, when others can read it or it holds something else. */
export function openOwnerToken(path: string): OwnerToken {
  createOnce(path)
  const hash = hashToken(readOwnerToken(path))
  return { matches: (token) => sameHash(hashToken(token), hash) }
}

/** The credential itself, for the CLI. */
export function readOwnerToken(path: string): string {
  const mode = statSync(path).mode & 0o777
  if ((mode & OTHERS) !== 0)
    throw new OwnerTokenUnusable(`${path} can be read by others (mode ${mode.toString(8)}). Run: chmod 600 ${path}`)
  const token = readFileSync(path, 'utf8').trim()
  if (!isToken(token))
    throw new OwnerTokenUnusable(`${path} holds no token. Remove the file; the next start makes a new one.`)
  return token
}

/** Written in full under another name and linked into place: of two processes that start at once, one wins whole. */
function createOnce(path: string): void {
  if (existsSync(path)) return
  makeFolder(dirname(path))
  const draft = `${path}.${process.pid}.new`
  writeFileSync(draft, `${mintToken()}\n`, { mode: OWNER_ONLY, flush: true })
  try {
    linkSync(draft, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    unlinkSync(draft)
  }
}
