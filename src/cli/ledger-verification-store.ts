/**
 * Ledger verification: verifies the ledger of a data directory, with or without a gateway, or an exported copy, with the
 * rules of every module.
 *
 * The files of a data directory are opened read-only, and nothing in them is trusted.
 */
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { buildDataDirectoryPaths } from '../config/data-directory.ts'
import type { DataDirectory } from '../config/data-directory.ts'
import type { Config } from '../config/schema.ts'
import { requireRegularFile } from '../core/bounded-file-store.ts'
import { findAlteredSchema } from '../core/database-schema-check-store.ts'
import { Database } from '../core/database-store.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { readFileIfPresent } from '../ledger/atomic-file-store.ts'
import { verifyAndParseCheckpoint } from '../ledger/checkpoint.ts'
import { findPinKeyFault } from '../ledger/checkpoint-signer.ts'
import { CheckpointStore } from '../ledger/checkpoint-store.ts'
import { verifyLedgerExport } from '../ledger/export-store.ts'
import type { LedgerFinding } from '../ledger/ledger-finding.ts'
import { formatLedgerFault } from '../ledger/ledger-state.ts'
import { formatKeyFault, loadExistingNodeKey } from '../ledger/key-store.ts'
import { EntryCacheVerification } from '../ledger/entry-cache-store.ts'
import { deriveTailMacKey } from '../ledger/entry-group.ts'
import { readAppliedEntryCount } from '../ledger/ledger-tables-store.ts'
import { LogStore } from '../ledger/log-store.ts'
import { LookupReader } from '../ledger/lookup-reader-store.ts'
import { ED25519_NOTE_SIGNATURE_TYPE, createLogSigner, createNoteVerifier } from '../ledger/note-key.ts'
import type { NoteVerifier } from '../ledger/note-key.ts'
import { findOverdueUnsignedEntries } from '../ledger/unsigned-tail.ts'
import { verifyStoredLog } from '../ledger/log-verification.ts'
import type { LogVerificationOptions, LogVerificationReport } from '../ledger/log-verification.ts'
import { openLedgerPin } from '../main/ledger-pin-location-store.ts'
import { chooseLogOrigin } from '../main/log-origin-store.ts'
import { deriveMeshDatabaseSealKey } from '../main/membership-log.ts'
import { loadMeshDatabaseCheck } from '../main/mesh-database-check-store.ts'
import { locateMeshFiles } from '../main/mesh-files.ts'
import { ledgerEntryCaches, createStoredContentChecks, ledgerProjections } from '../main/ledger-projections.ts'
import { explainMissingLedger, isLedgerPresent, reportTrouble } from './ledger-location-store.ts'
import { makeDatabaseReadable } from './readable-database-store.ts'

/** Verifies an exported copy, with the rules of every module. */
export function verifyExport(
  folder: string,
  key: NoteVerifier,
  options: LogVerificationOptions,
): Promise<LogVerificationReport> {
  return verifyLedgerExport(folder, key, { ...options, projections: ledgerProjections })
}

export interface DataVerificationReport extends LogVerificationReport {
  /** The path of the pin that would vouch for the log from outside of the data directory, if it does not exist. */
  readonly pinPath: string | undefined
}

/** Verifies everything again from the stored bytes. The fault is a sentence. */
export function verifyDataDirectoryLedger(
  dataRoot: string,
  config: Config,
  options: LogVerificationOptions = {},
): Promise<Result<DataVerificationReport, string>> {
  return reportTrouble(dataRoot, () => verifyIn(dataRoot, config, options))
}

async function verifyIn(
  dataRoot: string,
  config: Config,
  options: LogVerificationOptions,
): Promise<Result<DataVerificationReport, string>> {
  const data = buildDataDirectoryPaths(dataRoot)
  if (!isLedgerPresent(data)) return fail(explainMissingLedger(dataRoot))
  const key = await loadExistingNodeKey(data.nodeKey)
  if (!key.ok) return fail(formatKeyFault(key.fault))
  // The pin is read first, because a gateway that runs beside this process is never behind its pin.
  const pinned = await openLedgerPin(config, dataRoot)
  // The database is opened read-only and is not migrated: a verification must not change what it verifies. Tables of a
  // newer program are not understood, and would be reported as changed.
  const { nodeDatabaseMigrations: migrations } = await import('../main/node-database-migrations.ts')
  requireRegularFile(data.database)
  const readable = makeDatabaseReadable(data.database)
  const database = new Database({ path: readable.path, migrations, readOnly: true })
  // A transaction gives one view of all tables while others write. The log is read after it, and is never behind the
  // tables.
  database.sql.exec('BEGIN')
  const checkpoints = new CheckpointStore(database.sql)
  const tables = { size: readAppliedEntryCount(database.sql), signed: checkpoints.latest()?.size ?? 0 }
  // The file is read after the tables and before the entries: a checkpoint that is signed meanwhile is then in neither,
  // or in everything that is read later. A file that cannot be read counts as one that is not a checkpoint.
  const text = await readFileIfPresent(data.lastSigned).catch(() => new Uint8Array(0))
  const origin = await chooseLogOrigin(config, { ...data, pin: pinned.pin }, () => checkpoints.latest()?.note)
  const secret = deriveTailMacKey(createLogSigner(origin, key.value.privateKey))
  const lookup = openLookup(data.ledger)
  const mesh = locateMeshFiles(data).database
  const readableMesh = existsSync(mesh) ? makeDatabaseReadable(mesh) : undefined
  const meshAudit = await loadMeshDatabaseCheck({
    path: mesh,
    sealKey: deriveMeshDatabaseSealKey(key.value.privateKey),
    ...(readableMesh && { opened: readableMesh.path }),
  })
  const log = new LogStore({ directory: data.ledger, key: secret, readOnly: true, tables })
  try {
    const stored = {
      log,
      // The tail as it was when the tables were read; a running gateway may have appended to it since.
      tail: () => log.read,
      checkpoints,
      newestRow: tables.signed,
      tablesSize: () => tables.size,
      key: createNoteVerifier(origin, ED25519_NOTE_SIGNATURE_TYPE, key.value.publicKey),
      pinned,
      lastSigned: { path: data.lastSigned, text },
      cacheVerifications: () => ledgerEntryCaches.map((cache) => new EntryCacheVerification(cache, database.sql)),
      projections: ledgerProjections,
      contents: [...createStoredContentChecks(database, data), meshAudit],
      schema: () => findAlteredSchema(database.sql, migrations),
      databases: [database.path, ...(lookup === undefined ? [] : [lookup.store.path])],
      ...(lookup && { lookup: lookup.store }),
    }
    const report = await verifyStoredLog(stored, options)
    const fault = findPinKeyFault(pinned, stored.key)
    const beside: readonly LedgerFinding[] = [
      ...(fault === undefined ? [] : [{ kind: 'pin-differs', reason: formatLedgerFault(fault) } as const]),
      ...(await findUnsignedNow(log, stored, data)),
    ]
    const isPinned = pinned.pin !== undefined || pinned.unreadable !== undefined
    return ok({
      ...report,
      findings: [...beside, ...report.findings],
      pinPath: isPinned ? undefined : pinned.path,
    })
  } finally {
    lookup?.close()
    log.close()
    database.close()
    readable.remove()
    readableMesh?.remove()
  }
}

/** Read after the log: a checkpoint that was signed meanwhile covers more than the log that was read. */
async function findUnsignedNow(
  log: LogStore,
  { key, newestRow }: { readonly key: NoteVerifier; readonly newestRow: number },
  { lastSigned }: DataDirectory,
): Promise<readonly LedgerFinding[]> {
  const text = await readFileIfPresent(lastSigned).catch(() => undefined)
  const signed = text === undefined ? undefined : verifyAndParseCheckpoint(text, key)
  const inFile = signed?.ok === true ? signed.value.checkpoint.size : 0
  const finding = findOverdueUnsignedEntries(log, Math.max(inFile, newestRow))
  return finding === undefined ? [] : [finding]
}

/**
 * Read before the log, because the cache is never ahead of it. `undefined` for a cache that a start would build again.
 */
function openLookup(folder: string): { readonly store: LookupReader; readonly close: () => void } | undefined {
  const path = join(folder, 'lookup.db')
  if (!existsSync(path) || !statSync(path).isFile()) return undefined
  const readable = makeDatabaseReadable(path)
  try {
    const store = LookupReader.openReadOnly(readable.path)
    const close = (): void => {
      store.close()
      readable.remove()
    }
    return { store, close }
  } catch {
    readable.remove()
    return undefined
  }
}
