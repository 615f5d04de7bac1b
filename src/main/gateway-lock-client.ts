/**
 * Gateway lock: the process lock of a data directory, and whether a gateway works there although it does not hold that
 * file: a program that can write into the directory can move the file away. Such a program cannot reach a second lock,
 * outside of the directory, in the folder of its pin.
 *
 * Where that folder cannot be used, the note of the running gateway is what tells.
 *
 * The note of a running gateway is authenticated with the owner's token. A note that outlived its process does no harm:
 * either the process is gone, or another one with its number does not listen at its address.
 */
import { dirname } from 'node:path'
import type { DataDirectory } from '../config/data-directory.ts'
import { readBoundedFile } from '../core/bounded-file-store.ts'
import { createPrivateFolder } from '../core/folder-store.ts'
import { isProcessAlive, ProcessLockUnusableError, takeProcessLock } from '../core/process-lock-store.ts'
import type { ProcessLock } from '../core/process-lock-store.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { readOwnerToken } from '../guard/owner-token-store.ts'
import { parseRunningGatewayNote } from './running-gateway-note.ts'
import type { RunningGatewayNote } from './running-gateway-note.ts'

const MAX_NOTE_BYTES = 65_536
const ANSWER_MS = 2_000

/**
 * `outside`: the paths of the locks outside of the data directory, by each name of that directory. The fault is a
 * sentence. Throws `ProcessLockUnusableError`.
 */
export async function takeGatewayLock(
  data: DataDirectory,
  outside: readonly string[] = [],
): Promise<Result<ProcessLock, string>> {
  const lock = takeProcessLock(data.lock)
  if (lock === undefined) return fail(`A gateway runs for ${data.root} already.`)
  const held = [lock]
  const release = (): void => {
    // The file in the directory last: whoever takes it then finds the others free.
    for (const each of held.toReversed()) each.release()
  }
  const note = await explainGatewayWithoutLock(data)
  const busy = note === undefined ? takeLocksOutside(outside, held) : undefined
  const running = note ?? (busy && explainLockMoved(data, `it holds ${busy}`))
  if (running === undefined) return ok({ isInPlace: lock.isInPlace, release })
  release()
  return fail(running)
}

/** Adds the locks to `held`; the path of the first that another process has. */
export function takeLocksOutside(paths: readonly string[], held: ProcessLock[]): string | undefined {
  for (const path of paths) {
    try {
      createPrivateFolder(dirname(path))
      const lock = takeProcessLock(path)
      if (lock === undefined) return path
      held.push(lock)
    } catch (error) {
      if (error instanceof ProcessLockUnusableError) throw error
      // This user has no such folder, as some services have none: there is no pin then, either.
    }
  }
  return undefined
}

function explainLockMoved({ root, lock }: DataDirectory, which: string): string {
  return `A gateway runs for ${root} already (${which}), but ${lock} is no longer the file that it holds: somebody moved or replaced it. Stop that gateway before you start another.`
}

/** A sentence about a running gateway whose lock file is gone; `undefined` where there is none. */
export async function explainGatewayWithoutLock(data: DataDirectory): Promise<string | undefined> {
  const note = readAuthenticNote(data)
  if (note === undefined || note.pid === process.pid || !isProcessAlive(note.pid)) return undefined
  if (!(await isAnswering(note.url))) return undefined
  return explainLockMoved(data, `process ${note.pid}, ${note.url}`)
}

function readAuthenticNote({ gateway, ownerToken }: DataDirectory): RunningGatewayNote | undefined {
  try {
    return parseRunningGatewayNote(readBoundedFile(gateway, MAX_NOTE_BYTES).toString(), readOwnerToken(ownerToken))
  } catch {
    // Without a readable token, nothing proves who wrote the note; a start then refuses because of the token.
    return undefined
  }
}

/** Also true for a process that accepts the connection and is too busy to answer. */
async function isAnswering(url: string): Promise<boolean> {
  try {
    await fetch(`${url}/health`, { signal: AbortSignal.timeout(ANSWER_MS) })
    return true
  } catch (error) {
    return error instanceof Error && error.name === 'TimeoutError'
  }
}
