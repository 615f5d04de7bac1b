/**
 * Offline ledger: the ledger commands' way into a data directory, with or without a gateway.
 *
 * Verification opens the files read-only beside a running gateway, and trusts nothing in them. Signing, exporting and
 * erasing need the ledger exclusively, so they are only done here when no gateway runs.
 */
import type { KeyObject } from 'node:crypto'
import { accessSync, constants, copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { buildDataDirectoryPaths } from '../config/data-directory.ts'
import type { DataDirectory } from '../config/data-directory.ts'
import type { Config } from '../config/schema.ts'
import { requireRegularFile } from '../core/bounded-file-store.ts'
import { systemClock } from '../core/clock.ts'
import { findAlteredSchema } from '../core/database-schema-check-store.ts'
import { Database } from '../core/database-store.ts'
import type { ModuleMigrations } from '../core/database-store.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { explainUnreadableFile } from '../core/thrown-error.ts'
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
import { readEntriesOfKinds } from '../ledger/entries-by-kind.ts'
import { ledgerMigrations, explainOutdatedLedgerFormat, readAppliedEntryCount } from '../ledger/ledger-tables-store.ts'
import { isLogPresent, LogStore } from '../ledger/log-store.ts'
import { LookupStore } from '../ledger/lookup-store.ts'
import { Ledger } from '../ledger/ledger.ts'
import type { LedgerOptions } from '../ledger/ledger-options.ts'
import { ED25519_NOTE_SIGNATURE_TYPE, createLogSigner, createNoteVerifier } from '../ledger/note-key.ts'
import type { NoteVerifier } from '../ledger/note-key.ts'
import { ProjectionSet } from '../ledger/projection.ts'
import type { Projection } from '../ledger/projection.ts'
import { parseWitnessPolicy } from '../ledger/tlog-policy.ts'
import type { WitnessPolicy } from '../ledger/tlog-policy.ts'
import { continueTruncatedLogUnderNewName, formatSuccessorOrigin } from '../ledger/log-succession-store.ts'
import { findOverdueUnsignedEntries } from '../ledger/unsigned-tail.ts'
import { verifyStoredLog } from '../ledger/log-verification.ts'
import type { LogVerificationOptions, LogVerificationReport } from '../ledger/log-verification.ts'
import { openLedgerPin } from '../main/ledger-pin-location-store.ts'
import { chooseLogOrigin } from '../main/log-origin-store.ts'
import { deriveMeshDatabaseSealKey } from '../main/membership-log.ts'
import { loadMeshDatabaseCheck } from '../main/mesh-database-check-store.ts'
import { locateMeshFiles } from '../main/mesh-files.ts'
import { ledgerEntryCaches, createStoredContentChecks, ledgerProjections } from '../main/ledger-projections.ts'
import { explainInaccessibleDataRoot } from '../main/data-directory-check-store.ts'
import { explainDataDirectoryTrouble } from '../main/data-directory-trouble.ts'
import { takeGatewayLock } from '../main/gateway-lock-client.ts'

/** The public key of the ledger in a data directory, whether or not a gateway runs. The fault is a sentence. */
export function readVerifierKey(dataRoot: string, config: Config): Promise<Result<NoteVerifier, string>> {
  return orSentence(dataRoot, async () => {
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
  return orSentence(dataRoot, async () => {
    const { ledger: directory } = buildDataDirectoryPaths(dataRoot)
    if (!isLogPresent(directory)) return fail(noLedgerSentence(dataRoot))
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

/** A proof and the entry that it is about, as files. The fault is a sentence. */
export async function readProofAndEntryFiles(
  proof: string,
  entry: string,
): Promise<Result<{ readonly text: string; readonly bytes: Uint8Array }, string>> {
  const [text, bytes] = [await readFileBytes(proof), await readFileBytes(entry)]
  if (!text.ok) return text
  if (!bytes.ok) return bytes
  // An entry has no line break of its own; what printed it added one.
  const exact = bytes.value.at(-1) === NEWLINE ? bytes.value.subarray(0, -1) : bytes.value
  return ok({ text: text.value.toString(), bytes: exact })
}

const NEWLINE = 0x0a

/** The fault is a sentence. */
export async function readFileBytes(path: string): Promise<Result<Buffer, string>> {
  try {
    return ok(await readFile(path))
  } catch (error) {
    return fail(`${path}: ${explainUnreadableFile(error)}`)
  }
}

/** Reads the policy that a proof has to satisfy, in the form of C2SP tlog-policy. The fault is a sentence. */
export async function readWitnessPolicyFile(path: string): Promise<Result<WitnessPolicy, string>> {
  const bytes = await readFileBytes(path)
  if (!bytes.ok) return bytes
  const policy = parseWitnessPolicy(bytes.value.toString())
  if (policy.ok) return policy
  const { line, reason } = policy.fault
  return fail(line === 0 ? `${path}: ${reason}.` : `${path}, line ${line}: ${reason}.`)
}

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
  return orSentence(dataRoot, () => verifyIn(dataRoot, config, options))
}

async function verifyIn(
  dataRoot: string,
  config: Config,
  options: LogVerificationOptions,
): Promise<Result<DataVerificationReport, string>> {
  const data = buildDataDirectoryPaths(dataRoot)
  if (!existsSync(data.database) || !isLogPresent(data.ledger)) return fail(noLedgerSentence(dataRoot))
  const key = await loadExistingNodeKey(data.nodeKey)
  if (!key.ok) return fail(formatKeyFault(key.fault))
  // The pin is read first, because a gateway that runs beside this process is never behind its pin.
  const pinned = await openLedgerPin(config, dataRoot)
  // The database is opened read-only and is not migrated: a verification must not change what it verifies. Tables of a
  // newer program are not understood, and would be reported as changed.
  const migrations = await loadAllMigrations()
  requireRegularFile(data.database)
  const copy = isWritable(dirname(data.database)) ? undefined : copyDatabase(data.database)
  const database = new Database({ path: copy?.path ?? data.database, migrations, readOnly: true })
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
  const meshCopy = copy === undefined || !existsSync(mesh) ? undefined : copyDatabase(mesh)
  const meshAudit = await loadMeshDatabaseCheck({
    path: mesh,
    sealKey: deriveMeshDatabaseSealKey(key.value.privateKey),
    ...(meshCopy && { opened: meshCopy.path }),
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
    copy?.remove()
    meshCopy?.remove()
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
function openLookup(folder: string): { readonly store: LookupStore; readonly close: () => void } | undefined {
  const path = join(folder, 'lookup.db')
  if (!existsSync(path) || !statSync(path).isFile()) return undefined
  const copy = isWritable(folder) ? undefined : copyDatabase(path)
  try {
    const store = new LookupStore(copy?.path ?? path, { readOnly: true })
    const close = (): void => {
      store.close()
      copy?.remove()
    }
    return { store, close }
  } catch {
    copy?.remove()
    return undefined
  }
}

/**
 * SQLite creates a file beside the database even for reading, which fails on a write-protected medium unless SQLite is
 * told that nobody writes; but then it ignores the write-ahead log. So the files are copied.
 */
function copyDatabase(path: string): { readonly path: string; readonly remove: () => void } {
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false })
  if (log === undefined || log.size === 0)
    return { path: `${pathToFileURL(path).href}?immutable=1`, remove: () => undefined }
  const folder = mkdtempSync(join(tmpdir(), 'hearthbus-verify-'))
  for (const rest of ['', '-wal'])
    if (existsSync(`${path}${rest}`)) copyFileSync(`${path}${rest}`, join(folder, `copy${rest}`))
  return { path: join(folder, 'copy'), remove: () => rmSync(folder, { recursive: true }) }
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}

function noLedgerSentence(dataRoot: string): string {
  return (
    explainInaccessibleDataRoot(dataRoot) ??
    explainOutdatedLedgerFormat(buildDataDirectoryPaths(dataRoot).database) ??
    `There is no ledger in ${dataRoot}.`
  )
}

/** `even-refusing`: the command also runs on a ledger that refuses to open, because it repairs that condition. */
export type RequiredLedgerCondition = 'sound' | 'even-refusing'

export interface OfflineLedgerOptions {
  readonly dataRoot: string
  readonly config: Config
  readonly state: RequiredLedgerCondition
  /** Whether the work touches tables of other modules, which are then brought up to date. */
  readonly rooms?: 'ledger' | 'all'
}

/** Runs `work` on the ledger of a data directory that no gateway uses. The fault is a sentence. */
export function withOfflineLedger<Value>(
  place: OfflineLedgerOptions,
  work: (ledger: Ledger) => Promise<Value>,
): Promise<Result<Value, string>> {
  return withOptions(place, async (options) => {
    const ledger = await Ledger.open(options)
    const state = ledger.state()
    if (state.kind === 'refusing' && place.state === 'sound') return fail(formatLedgerFault(state.fault))
    const done = await work(ledger)
    // The command signs at its end: no running gateway would sign later what it recorded, and nothing unsigned may
    // follow a stop.
    if (ledger.state().kind !== 'refusing' && ledger.size() > (ledger.latestCheckpoint()?.checkpoint.size ?? 0)) {
      const signed = await ledger.checkpoint()
      if (!signed.ok) return fail(formatLedgerFault(signed.fault))
    }
    await ledger.flushPin()
    return ok(done)
  })
}

export interface SuccessorLogFacts {
  readonly entries: number
  readonly key: NoteVerifier
}

/** Continues from an older copy as a log with another name, where no gateway runs. The fault is a sentence. */
export function startSuccessorLog(dataRoot: string, config: Config): Promise<Result<SuccessorLogFacts, string>> {
  const { origin: named } = config.ledger
  if (named !== undefined)
    return Promise.resolve(
      fail(`ledger.origin names ${named} in the configuration. Take that line out first: a new log has another name.`),
    )
  return withOptions({ dataRoot, config, rooms: 'all' }, async (options, privateKey) => {
    const signer = createLogSigner(formatSuccessorOrigin(options.origin, systemClock.now()), privateKey)
    const signed = await continueTruncatedLogUnderNewName(options, signer)
    if (signed.ok) return ok({ entries: signed.value.checkpoint.size, key: signer.key })
    return fail(signed.fault.kind === 'nothing-to-adopt' ? NOTHING_TO_ADOPT_MESSAGE : formatLedgerFault(signed.fault))
  })
}

export const NOTHING_TO_ADOPT_MESSAGE = 'The ledger is in order as far as this node knows; there is nothing to adopt.'

function withOptions<Value>(
  place: Omit<OfflineLedgerOptions, 'state'>,
  work: (options: LedgerOptions, privateKey: KeyObject) => Promise<Result<Value, string>>,
): Promise<Result<Value, string>> {
  return orSentence(place.dataRoot, () => workIn(place, work))
}

async function workIn<Value>(
  { dataRoot, config, rooms }: Omit<OfflineLedgerOptions, 'state'>,
  work: (options: LedgerOptions, privateKey: KeyObject) => Promise<Result<Value, string>>,
): Promise<Result<Value, string>> {
  const data = buildDataDirectoryPaths(dataRoot)
  if (!existsSync(data.database) || !isLogPresent(data.ledger)) return fail(noLedgerSentence(dataRoot))
  const lock = await takeGatewayLock(data)
  if (!lock.ok) return lock
  try {
    const key = await loadExistingNodeKey(data.nodeKey)
    if (!key.ok) return fail(formatKeyFault(key.fault))
    // All migrations are checked, whatever tables the work touches: a planted trigger would run with its first
    // statement.
    const database = new Database({ path: data.database, migrations: await loadAllMigrations(), isWhole: true })
    try {
      const pin = await openLedgerPin(config, dataRoot)
      const place = { ...data, pin: pin.pin }
      const origin = await chooseLogOrigin(config, place, () => new CheckpointStore(database.sql).latest()?.note)
      const { privateKey } = key.value
      const options = {
        database,
        signer: createLogSigner(origin, privateKey),
        origin,
        lastSignedPath: data.lastSigned,
        pin,
        clock: systemClock,
        caches: rooms === 'all' ? ledgerEntryCaches : [],
        projections: ledgerProjections,
      }
      return await work(options, privateKey)
    } finally {
      database.close()
    }
  } finally {
    lock.value.release()
  }
}

/** Not loaded by commands that only read, because the families are large. */
export async function loadAllMigrations(): Promise<readonly ModuleMigrations[]> {
  const { guardMigrations } = await import('../guard/guard-secret-store.ts')
  const { familyMigrations } = await import('../main/families.ts')
  return [ledgerMigrations, guardMigrations, ...familyMigrations]
}

/** Turns errors into sentences: these commands exist to report files that cannot be opened. */
async function orSentence<Value>(
  dataRoot: string,
  work: () => Promise<Result<Value, string>>,
): Promise<Result<Value, string>> {
  try {
    return await work()
  } catch (error) {
    const sentence = explainDataDirectoryTrouble(error, dataRoot)
    if (sentence === undefined) throw error
    return fail(sentence)
  }
}
