/**
 * Origin: the name of a data directory's log, under which all of its checkpoints are signed.
 *
 * It is made from the node's name once, and then stays what was signed: a node that is given another name, or that went
 * on as a log of another name, keeps it. It is read from a file, or from the database where the file is lost, and
 * nobody has checked either yet, which is safe: the ledger opens only if this node's key signed that file, and the
 * newest checkpoint in the database, under this very name.
 */
import type { DataDirectory } from '../config/data-directory.ts'
import type { Config } from '../config/schema.ts'
import { readIfThere } from '../ledger/atomic-file-store.ts'
import { parseCheckpoint } from '../ledger/checkpoint.ts'
import { parseNote } from '../ledger/note.ts'

/**
 * What the owner set, else what was signed last, else what a first start makes of the node's name. `newestNote` is the
 * newest checkpoint in the database; asked for only where the file beside it says nothing.
 */
export async function resolveLogOrigin(
  { ledger, node }: Config,
  { lastSigned }: DataDirectory,
  newestNote: () => string | undefined,
): Promise<string> {
  if (ledger.origin !== undefined) return ledger.origin
  const inFile = await readIfThere(lastSigned).catch(() => undefined)
  return signedOrigin(inFile) ?? signedOrigin(newestNote()) ?? `hearthbus.local/${node.name}`
}

/** `undefined` where there is none, and where it cannot be read: what is wrong then is the ledger's to say. */
function signedOrigin(text: string | Uint8Array | undefined): string | undefined {
  const note = text === undefined ? undefined : parseNote(text)
  if (note?.ok !== true) return undefined
  const checkpoint = parseCheckpoint(note.value.text)
  if (!checkpoint.ok) return undefined
  const { origin } = checkpoint.value
  return note.value.signatures.some(({ name }) => name === origin) ? origin : undefined
}
