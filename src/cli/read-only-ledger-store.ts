/**
 * Read-only ledger: the key, an entry and the projected states of a data directory, read with or without a gateway.
 */
import { existsSync } from 'node:fs'
import { buildDataDirectoryPaths } from '../config/data-directory.ts'
import type { DataDirectory } from '../config/data-directory.ts'
import type { Config } from '../config/schema.ts'
import { requireRegularFile } from '../core/bounded-file-store.ts'
import { Database } from '../core/database-store.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { CheckpointStore } from '../ledger/checkpoint-store.ts'
import { formatKeyFault, loadExistingNodeKey } from '../ledger/key-store.ts'
import { readEntriesOfKinds } from '../ledger/entries-by-kind.ts'
import { isLogPresent, LogStore } from '../ledger/log-store.ts'
import { ED25519_NOTE_SIGNATURE_TYPE, createNoteVerifier } from '../ledger/note-key.ts'
import type { NoteVerifier } from '../ledger/note-key.ts'
import { ProjectionSet } from '../ledger/projection.ts'
import type { Projection } from '../ledger/projection.ts'
import { openLedgerPin } from '../main/ledger-pin-location-store.ts'
import { chooseLogOrigin } from '../main/log-origin-store.ts'
import { explainInaccessibleDataRoot } from '../main/data-directory-check-store.ts'
import { explainMissingLedger, reportTrouble } from './ledger-location-store.ts'

/** The public key of the ledger in a data directory, whether or not a gateway runs. The fault is a sentence. */
export function readVerifierKey(dataRoot: string, config: Config): Promise<Result<NoteVerifier, string>> {
  return reportTrouble(dataRoot, async () => {
    const data = buildDataDirectoryPaths(dataRoot)
    const { nodeKey } = data
    if (!existsSync(nodeKey))
      return fail(
        explainInaccessibleDataRoot(dataRoot) ??
          `There is no ledger in ${dataRoot} yet; the first start of a gateway makes it.`,
      )
    const key = await loadExistingNodeKey(nodeKey)
    if (!key.ok) return fail(formatKeyFault(key.fault))
    const { pin } = await openLedgerPin(config, dataRoot)
    const origin = await chooseLogOrigin(config, { ...data, pin }, () => newestNoteIn(data))
    return ok(createNoteVerifier(origin, ED25519_NOTE_SIGNATURE_TYPE, key.value.publicKey))
  })
}

function newestNoteIn({ database: path }: DataDirectory): string | undefined {
  if (!existsSync(path)) return undefined
  requireRegularFile(path)
  const database = new Database({ path, migrations: [], readOnly: true })
  try {
    return new CheckpointStore(database.sql).latest()?.note
  } finally {
    database.close()
  }
}

/** The exact bytes of an entry, read beside a running gateway. The fault is a sentence. */
export function readEntryBytes(dataRoot: string, seq: number): Promise<Result<Uint8Array, string>> {
  return reportTrouble(dataRoot, async () => {
    const { ledger: directory } = buildDataDirectoryPaths(dataRoot)
    if (!isLogPresent(directory)) return fail(explainMissingLedger(dataRoot))
    const log = new LogStore({ directory, key: undefined, readOnly: true })
    try {
      const row = log.entry(seq)
      return row === undefined ? fail(`There is no entry ${seq}; they are numbered from 0.`) : ok(row.bytes)
    } finally {
      log.close()
    }
  })
}

/** A state computed from the log in a folder, read beside a running gateway. Throws where the log cannot be opened. */
export function readProjectedState<State>(directory: string, projection: Projection<State>): State {
  const log = new LogStore({ directory, key: undefined, readOnly: true })
  try {
    return new ProjectionSet((kinds) => readEntriesOfKinds(log, kinds)).state(projection)
  } finally {
    log.close()
  }
}
