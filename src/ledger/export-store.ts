/**
 * Export: a copy of the log's files in the layout of C2SP tlog-tiles, which anybody can copy, serve and verify.
 *
 *   checkpoint · tile/0/… · tile/1/… · tile/entries/… · bodies/… (only if asked for)
 *
 * Tiles and bundles are copied first and are durable before the checkpoint that covers them replaces the old one, so a
 * reader of the directory finds, at any moment, every file that its checkpoint refers to. A full tile never changes; an
 * export continues from the checkpoint of the last export, and then removes the partial tiles whose full tile exists.
 */
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { areBytesEqual } from '../core/bytes.ts'
import { createPrivateFolder } from '../core/folder-store.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import {
  readFileIfPresent,
  syncDirectory,
  writeFileAtomically,
  writeFileWithoutDirectorySync,
} from './atomic-file-store.ts'
import { encodeBodyRecords } from './entry-group.ts'
import type { SaltedBody } from './entry-group.ts'
import { formatCheckpointFault, formatSignedCheckpoint, verifyAndParseCheckpoint } from './checkpoint.ts'
import type { SignedCheckpoint } from './checkpoint.ts'
import { findLedgerFork } from './ledger-state.ts'
import type { NoteVerifier } from './note-key.ts'
import { ExportedLog } from './exported-log-store.ts'
import type { UntypedProjection } from './projection.ts'
import { formatBodiesPath, countLevelHashes, TILE_WIDTH, formatTilePath, listTiles } from './tile.ts'
import type { TileCoordinates } from './tile.ts'
import { verifyStoredLog } from './log-verification.ts'
import type { LogVerificationOptions, LogVerificationReport } from './log-verification.ts'

export interface LedgerExportSource {
  /**
   * The content of a tile or bundle, from the log as this node reads it: the files may be links to others, such as keys,
   * and an export is for strangers. Throws `TreeDamagedError`.
   */
  readonly content: (name: TileCoordinates) => Uint8Array
  readonly key: NoteVerifier
  readonly signed: SignedCheckpoint
  readonly rootAt: (size: number) => Uint8Array
  /** Reads the body of an entry by number; `undefined` leaves bodies out of the copy. */
  readonly bodies?: ((seq: number) => SaltedBody | undefined) | undefined
}

export type LedgerExportFault =
  /** The directory contains something that this ledger does not extend; it is left unchanged. */
  | { readonly kind: 'export-diverged'; readonly directory: string; readonly reason: string }
  | { readonly kind: 'export-unwritable'; readonly directory: string; readonly reason: string }

export interface LedgerExportResult {
  readonly size: number
  /** Files written this time. */
  readonly files: number
}

export async function writeLedgerExport(
  source: LedgerExportSource,
  directory: string,
): Promise<Result<LedgerExportResult, LedgerExportFault>> {
  try {
    return await write(source, directory)
  } catch (error) {
    // Only file system errors are expected; anything else is a bug.
    if (!(error instanceof Error) || !('syscall' in error)) throw error
    return fail({ kind: 'export-unwritable', directory, reason: error.message })
  }
}

async function write(
  source: LedgerExportSource,
  directory: string,
): Promise<Result<LedgerExportResult, LedgerExportFault>> {
  createPrivateFolder(directory)
  const earlier = await earlierSize(source, directory)
  if (!earlier.ok) return earlier
  const { size } = source.signed.checkpoint
  const wanted = pathsOf(size, earlier.value)
  const files = new Map<string, Uint8Array>()
  for (const name of wanted) {
    files.set(formatTilePath(name), source.content(name))
    await setImmediate()
  }
  for (const [path, content] of bodyFiles(source)) {
    const before = await readFileIfPresent(join(directory, path), content.length)
    if (before === undefined || !areBytesEqual(before, content)) files.set(path, content)
  }
  const directories = new Set<string>()
  for (const [name, content] of files) {
    const path = join(directory, name)
    if (!directories.has(dirname(path))) createPrivateFolder(dirname(path))
    directories.add(dirname(path))
    await writeFileWithoutDirectorySync(path, content)
  }
  for (const written of directories) await syncDirectory(written)
  await writeFileAtomically(join(directory, 'checkpoint'), formatSignedCheckpoint(source.signed))
  for (const name of wanted)
    if (name.width === TILE_WIDTH)
      await rm(join(directory, `${formatTilePath(name)}.p`), { recursive: true, force: true })
  return ok({ size, files: files.size + 1 })
}

export interface ExportVerificationOptions extends LogVerificationOptions {
  /** Projections, whose rules say which entry may follow which. Without them, this is not checked. */
  readonly projections?: readonly UntypedProjection[]
}

/** Verifies an exported copy with the key of its log, without a database. */
export function verifyLedgerExport(
  directory: string,
  key: NoteVerifier,
  { projections, ...options }: ExportVerificationOptions = {},
): Promise<LogVerificationReport> {
  const log = new ExportedLog(directory)
  return verifyStoredLog({ log, key, ...(projections && { projections }) }, options).finally(() => log.close())
}

/** The size of the directory's checkpoint, once it is verified to be a part of this ledger. */
async function earlierSize(source: LedgerExportSource, directory: string): Promise<Result<number, LedgerExportFault>> {
  const text = await readFileIfPresent(join(directory, 'checkpoint'))
  if (text === undefined) return ok(0)
  const opened = verifyAndParseCheckpoint(text, source.key)
  if (!opened.ok)
    return fail({
      kind: 'export-diverged',
      directory,
      reason: `of its checkpoint, ${formatCheckpointFault(opened.fault)}`,
    })
  const tree = { size: source.signed.checkpoint.size, rootAt: source.rootAt }
  const fork = findLedgerFork(tree, opened.value.checkpoint, 'file')
  if (fork === undefined) return ok(opened.value.checkpoint.size)
  const { size } = opened.value.checkpoint
  return fail({
    kind: 'export-diverged',
    directory,
    reason: `it holds ${size} entries that this ledger does not extend`,
  })
}

/** The paths of the tiles and bundles of a tree, except those that were already full at `earlier`. */
function pathsOf(size: number, earlier: number): TileCoordinates[] {
  const done = (level: number) => Math.floor(countLevelHashes(level, earlier) / TILE_WIDTH)
  const tiles = [...listTiles(size, done)]
  return [...tiles.filter(({ level }) => level === 0).map((tile) => ({ ...tile, level: 'entries' as const })), ...tiles]
}

/**
 * All files of bodies are written each time, because bodies that were erased since the last export must be removed from
 * the copy as well.
 */
function* bodyFiles({ bodies, signed }: LedgerExportSource): Generator<readonly [string, Uint8Array]> {
  if (bodies === undefined) return
  const { size } = signed.checkpoint
  for (let first = 0; first < size; first += TILE_WIDTH) {
    const records = Array.from({ length: Math.min(TILE_WIDTH, size - first) }, (_, index) => {
      const body = bodies(first + index)
      return body === undefined ? [] : [{ index, ...body }]
    }).flat()
    if (records.length > 0) yield [formatBodiesPath(first / TILE_WIDTH), encodeBodyRecords(records)]
  }
}
