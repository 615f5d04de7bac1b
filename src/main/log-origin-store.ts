/**
 * Log origin: the name of a data directory's log, under which all of its checkpoints are signed.
 *
 * It is derived from the node's name once, and then stays the name that was signed: it does not change when the node is
 * renamed, or when the log was continued under another name. It is read from a file, or from the database where the
 * file is lost, and neither has been verified at this point. This is safe: the ledger opens only if this node's key
 * signed that file, and the newest checkpoint in the database, under this very name.
 */
import type { DataDirectory } from '../config/data-directory.ts'
import type { Config } from '../config/schema.ts'
import { readFileIfPresent } from '../ledger/atomic-file-store.ts'
import { parseCheckpoint } from '../ledger/checkpoint.ts'
import type { LedgerPin } from '../ledger/ledger-pin-store.ts'
import { parseVerifierKey } from '../ledger/note-key.ts'
import { parseNote } from '../ledger/signed-note.ts'

/**
 * The configured origin, else the one that was signed last, else the pinned one, else one derived from the node's name.
 * `newestNote` reads the newest checkpoint in the database; it is called only if the file has none.
 */
export async function chooseLogOrigin(
  { ledger, node }: Config,
  { lastSigned, pin }: Pick<DataDirectory, 'lastSigned'> & { readonly pin?: LedgerPin | undefined },
  newestNote: () => string | undefined,
): Promise<string> {
  if (ledger.origin !== undefined) return ledger.origin
  const inFile = await readFileIfPresent(lastSigned).catch(() => undefined)
  const pinned = parseVerifierKey(pin?.vkey ?? '')
  const known = signedOrigin(inFile) ?? signedOrigin(newestNote()) ?? (pinned.ok ? pinned.value.name : undefined)
  return known ?? `hearthbus.local/${node.name}`
}

/** Returns `undefined` if there is none, or if it cannot be read; the ledger then reports the defect. */
function signedOrigin(text: string | Uint8Array | undefined): string | undefined {
  const note = text === undefined ? undefined : parseNote(text)
  if (note?.ok !== true) return undefined
  const checkpoint = parseCheckpoint(note.value.text)
  if (!checkpoint.ok) return undefined
  const { origin } = checkpoint.value
  return note.value.signatures.some(({ name }) => name === origin) ? origin : undefined
}
