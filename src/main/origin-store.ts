/**
 * Origin: the name of a data directory's log, under which all of its checkpoints are signed.
 *
 * It is made from the node's name once, and then stays what was signed: a node that is given another name goes on with
 * its log. It is read from a file that nobody has checked yet, which is safe: the ledger opens only if this node's key
 * signed that file, and the newest checkpoint in the database, under this very name.
 *
 * Does I/O.
 */
import type { DataDirectory } from '../config/data-directory.ts'
import type { Config } from '../config/schema.ts'
import { readIfThere } from '../ledger/atomic-file-store.ts'
import { parseCheckpoint } from '../ledger/checkpoint.ts'
import { parseNote } from '../ledger/note.ts'

/** What the owner set, else what was signed last, else what a first start makes of the node's name. */
export async function originIn({ ledger, node }: Config, { lastSigned }: DataDirectory): Promise<string> {
  return ledger.origin ?? (await signedOrigin(lastSigned)) ?? `hearthbus.local/${node.name}`
}

/** `undefined` where there is none, and where it cannot be read: what is wrong then is the ledger's to say. */
async function signedOrigin(path: string): Promise<string | undefined> {
  const text = await readIfThere(path).catch(() => undefined)
  const note = text === undefined ? undefined : parseNote(text)
  if (note?.ok !== true) return undefined
  const checkpoint = parseCheckpoint(note.value.text)
  if (!checkpoint.ok) return undefined
  const { origin } = checkpoint.value
  return note.value.signatures.some(({ name }) => name === origin) ? origin : undefined
}
