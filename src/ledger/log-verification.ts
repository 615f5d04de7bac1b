/**
 * Log verification: compares the stored ledger with itself and with what was signed. Everything is derived again from
 * the entries' bytes; no tile, table or checkpoint is trusted because it exists.
 *
 *   entries ▸ canonical, in place, calls paired ▸ leaf hashes ▸ tiles ▸ roots ▸ every checkpoint, here and in the file
 *        ├──▸ bodies against their commitments
 *        ├──▸ which entry may follow which (projection.ts)
 *        └──▸ tables that repeat what entries say (lookups, entry-cache-store.ts), once all entries were read
 *
 * The same function verifies a running node's log, a copy of a data directory and an export alone. Signed entries are
 * read from the files that an export also has, so that all three give the same findings. Parts that are absent (tail,
 * bodies, database, keys) are named in the report as unchecked.
 *
 * With an earlier checkpoint (`since`) it verifies only the entries after it. For those before it relies on the full
 * tiles, whose root that checkpoint signed, and does not read the entries again. Succession and tables are not checked
 * then, since both depend on all entries.
 *
 * It yields between bundles, so that a node can verify itself while it works, and ends at the entry that is the last
 * one by then.
 *
 * Reads through the stores it is given.
 */
import { setImmediate, setTimeout } from 'node:timers/promises'
import { basename } from 'node:path'
import { findDatabaseDefects } from '../core/database-integrity-store.ts'
import { readErrorMessage } from '../core/thrown-error.ts'
import type { SignedCheckpoint } from './checkpoint.ts'
import type { CheckpointStore } from './checkpoint-store.ts'
import type { EntryCacheVerification } from './entry-cache-store.ts'
import { LedgerFindings } from './ledger-finding.ts'
import type { LedgerFinding, UncheckedPart } from './ledger-finding.ts'
import type { LedgerPinFile } from './ledger-pin-store.ts'
import type { LogStore } from './log-store.ts'
import type { LookupsToVerify } from './lookup-verification.ts'
import type { NoteVerifier } from './note-key.ts'
import type { UntypedProjection, StoredContentCheck } from './projection.ts'
import type { TailContents } from './tail-reader-store.ts'
import type { TileStore } from './tile-store.ts'
import { LedgerVerification } from './ledger-verification.ts'

export interface LogVerificationOptions {
  /** Verify only the entries after this checkpoint, which this log must have signed. */
  readonly since?: SignedCheckpoint | undefined
  /** Checkpoints that were saved elsewhere: the log must extend them. */
  readonly known?: readonly SignedCheckpoint[] | undefined
  /** The share of one processor that it may use; absent: all of it. */
  readonly share?: number | undefined
  readonly onProgress?: ((checked: number, size: number) => void) | undefined
  readonly signal?: AbortSignal | undefined
}

/** How a log is read. From `base` up to `size`, entries are read from the tail, or from memory. */
export type VerifiableLog = Pick<
  LogStore,
  'checkpoint' | 'entry' | 'body' | 'hasBodyInTail' | 'size' | 'base' | 'damage' | 'tailFirst'
> & {
  readonly tiles: Pick<TileStore, 'examine' | 'examineBodies' | 'has' | 'partialWidths'>
}

/** A log, and what is beside it where there is more than an export. */
export interface LogToVerify {
  readonly log: VerifiableLog
  readonly key: NoteVerifier
  /** The tail as it is on the disk now. */
  readonly tail?: () => TailContents
  readonly checkpoints?: CheckpointStore
  /** The size of the newest checkpoint in the database, read before the file was read. */
  readonly newestRow?: number
  /** What the pin contained before the log was read. */
  readonly pinned?: Pick<LedgerPinFile, 'path' | 'pin'> | undefined
  /** The last signed checkpoint in the file beside the log. */
  readonly lastSigned?: { readonly path: string; readonly text: Uint8Array | undefined }
  /** Audits of the tables of the same database that copy what entries say. */
  readonly cacheVerifications?: () => readonly EntryCacheVerification[]
  /** How far the tables of the same database have followed the log. */
  readonly tablesSize?: () => number
  /** Projections, whose rules say which entry may follow which. */
  readonly projections?: readonly UntypedProjection[]
  /** Audits of content that is stored beside the log, and whose hashes are in the log. */
  readonly contents?: readonly StoredContentCheck[]
  /** Database files whose indexes are compared with their tables. */
  readonly databases?: readonly string[]
  /** Names of parts of the database's schema that differ from what the program creates. */
  readonly schema?: () => readonly string[]
  readonly lookup?: LookupsToVerify
  /** Runs a function on one consistent view of log and tables, while others may write. */
  readonly view?: <Value>(read: () => Value) => Promise<Value>
}

export interface LogVerificationReport {
  /** The first entry that was read; above 0 only for an incremental run. */
  readonly from: number
  readonly size: number
  /** `undefined` when entries are missing, so that the tree cannot be known. */
  readonly root: Uint8Array | undefined
  /** The checkpoint beside the tiles, with whatever cosignatures it carries. */
  readonly signed: SignedCheckpoint | undefined
  /** Empty when there is no defect. */
  readonly findings: readonly LedgerFinding[]
  /** Findings beyond those listed. */
  readonly more: number
  /** Bodies that are missing because an entry that was read says that they were erased. */
  readonly erased: number
  /** Whether the tables that copy the log were compared: only where every entry was read. */
  readonly compared: boolean
  readonly unchecked: readonly UncheckedPart[]
}

async function checkDatabases(paths: readonly string[], findings: LedgerFindings): Promise<void> {
  for (const path of paths) {
    const defects = await findDatabaseDefects(path).catch((error: unknown) => [readErrorMessage(error)])
    for (const reason of defects)
      findings.add({ kind: 'database-inconsistent', path: basename(path).replace(/\?.*$/, ''), reason })
  }
}

/** Rejects only when `signal` aborts; every other error is a finding. */
export async function verifyStoredLog(
  stored: LogToVerify,
  options: LogVerificationOptions = {},
): Promise<LogVerificationReport> {
  const findings = new LedgerFindings()
  const view = stored.view ?? (async <Value>(read: () => Value): Promise<Value> => read())
  let run: LedgerVerification | undefined
  try {
    const verification = await view(() => new LedgerVerification(stored, findings, options))
    run = verification
    await view(() => verification.begin())
    if (verification.from === 0) await checkDatabases(stored.databases ?? [], findings)
    for (let goesOn = true; goesOn;) {
      const beganMs = performance.now()
      goesOn = await view(() => verification.turn())
      options.onProgress?.(verification.next, Math.max(verification.next, stored.log.size))
      if (options.share === undefined) await setImmediate()
      else await setTimeout((performance.now() - beganMs) * (1 / options.share - 1), undefined, { ref: false })
      options.signal?.throwIfAborted()
    }
  } catch (error) {
    if (options.signal?.aborted === true) throw error
    // The data cannot be read because somebody may have changed it.
    findings.add({ kind: 'unreadable', reason: readErrorMessage(error) })
  } finally {
    run?.close()
  }
  const { list, more } = findings
  return {
    from: run?.from ?? 0,
    size: run?.size() ?? 0,
    root: run?.root(),
    signed: run?.published,
    findings: list,
    more,
    erased: run?.erased() ?? 0,
    compared: run?.compared ?? false,
    unchecked: [...(run?.unchecked ?? [])],
  }
}
