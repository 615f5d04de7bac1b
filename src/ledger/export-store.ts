/**
 * Export: a copy of the log's files in the layout of C2SP tlog-tiles, which anybody can copy, serve and verify.
 *
 *   checkpoint · tile/0/… · tile/1/… · tile/entries/… · bodies/… (only if asked for)
 *
 * Tiles and bundles are copied first and are durable before the checkpoint that speaks of them replaces the old one,
 * so whoever reads the directory at any moment finds everything that the checkpoint promises. A full tile never
 * changes; an export goes on from the checkpoint that the last one left, and then removes the partial tiles whose full
 * one is there.
 */
import { readFile, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { equalBytes } from '../core/bytes.ts'
import { makeFolder } from '../core/folder-store.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { readIfThere, syncDirectory, writeAtomically, writeFileWithoutDirectorySync } from './atomic-file-store.ts'
import { encodeBodyRecords } from './group.ts'
import type { SaltedBody } from './group.ts'
import { checkpointFaultReason, formatSignedCheckpoint, openCheckpoint } from './checkpoint.ts'
import type { SignedCheckpoint } from './checkpoint.ts'
import { findFork } from './fork.ts'
import type { VerifierKey } from './note-key.ts'
import { LogStore } from './log-store.ts'
import { bodiesPath, decodeBundle, encodeBundle, countLevelHashes, TILE_WIDTH, tilePath, listTiles } from './tile.ts'
import type { TileName } from './tile.ts'
import { HASH_BYTES } from './tree.ts'
import { verifyStored } from './verify.ts'
import type { VerifyOptions, VerifyReport } from './verify.ts'

export interface ExportSource {
  /** Of the log itself. */
  readonly directory: string
  readonly key: VerifierKey
  readonly signed: SignedCheckpoint
  readonly rootAt: (size: number) => Uint8Array
  /** Of the log's entries, by number; `undefined` leaves bodies out of the copy. */
  readonly bodies?: ((seq: number) => SaltedBody | undefined) | undefined
}

export type ExportFault =
  /** The directory holds something that this ledger does not extend; it is left as it is. */
  | { readonly kind: 'export-diverged'; readonly directory: string; readonly reason: string }
  | { readonly kind: 'export-unwritable'; readonly directory: string; readonly reason: string }

export interface ExportResult {
  readonly size: number
  /** Files written this time. */
  readonly files: number
}

export async function writeExport(source: ExportSource, directory: string): Promise<Result<ExportResult, ExportFault>> {
  try {
    return await write(source, directory)
  } catch (error) {
    // Only what a file system says; anything else is a mistake of ours.
    if (!(error instanceof Error) || !('syscall' in error)) throw error
    return fail({ kind: 'export-unwritable', directory, reason: error.message })
  }
}

async function write(source: ExportSource, directory: string): Promise<Result<ExportResult, ExportFault>> {
  makeFolder(directory)
  const earlier = await earlierSize(source, directory)
  if (!earlier.ok) return earlier
  const { size } = source.signed.checkpoint
  const wanted = pathsOf(size, earlier.value)
  const files = new Map<string, Uint8Array>()
  for (const name of wanted) files.set(tilePath(name), await contentOf(source.directory, name))
  for (const [path, content] of bodyFiles(source)) {
    const before = await readIfThere(join(directory, path))
    if (before === undefined || !equalBytes(before, content)) files.set(path, content)
  }
  const directories = new Set<string>()
  for (const [name, content] of files) {
    const path = join(directory, name)
    if (!directories.has(dirname(path))) makeFolder(dirname(path))
    directories.add(dirname(path))
    await writeFileWithoutDirectorySync(path, content)
  }
  for (const written of directories) await syncDirectory(written)
  await writeAtomically(join(directory, 'checkpoint'), formatSignedCheckpoint(source.signed))
  for (const name of wanted)
    if (name.width === TILE_WIDTH) await rm(join(directory, `${tilePath(name)}.p`), { recursive: true, force: true })
  return ok({ size, files: files.size + 1 })
}

/** Checks an exported copy against the key of its log, with no database. */
export function verifyExport(directory: string, key: VerifierKey, options?: VerifyOptions): Promise<VerifyReport> {
  const log = new LogStore({ directory, key: undefined, readOnly: true })
  return verifyStored({ log, key }, options).finally(() => log.close())
}

/** The size that the directory's checkpoint speaks of, once it is known to be a part of this ledger. */
async function earlierSize(source: ExportSource, directory: string): Promise<Result<number, ExportFault>> {
  const text = await readIfThere(join(directory, 'checkpoint'))
  if (text === undefined) return ok(0)
  const opened = openCheckpoint(text, source.key)
  if (!opened.ok)
    return fail({
      kind: 'export-diverged',
      directory,
      reason: `of its checkpoint, ${checkpointFaultReason(opened.fault)}`,
    })
  const tree = { size: source.signed.checkpoint.size, rootAt: source.rootAt }
  const fork = findFork(tree, opened.value.checkpoint, 'file')
  if (fork === undefined) return ok(opened.value.checkpoint.size)
  const { size } = opened.value.checkpoint
  return fail({
    kind: 'export-diverged',
    directory,
    reason: `it holds ${size} entries that this ledger does not extend`,
  })
}

/** Tiles and bundles of a tree, without those that were already full at `earlier`. */
function pathsOf(size: number, earlier: number): TileName[] {
  const done = (level: number) => Math.floor(countLevelHashes(level, earlier) / TILE_WIDTH)
  const tiles = [...listTiles(size, done)]
  return [...tiles.filter(({ level }) => level === 0).map((tile) => ({ ...tile, level: 'entries' as const })), ...tiles]
}

/** A partial tile whose full one came meanwhile is the beginning of that. */
async function contentOf(directory: string, name: TileName): Promise<Uint8Array> {
  const known = await readIfThere(join(directory, tilePath(name)))
  if (known !== undefined) return known
  const full = await readFile(join(directory, tilePath({ ...name, width: TILE_WIDTH })))
  if (name.level !== 'entries') return full.subarray(0, name.width * HASH_BYTES)
  const entries = decodeBundle(full, TILE_WIDTH)
  if (!entries.ok) throw new Error(`entry bundle ${name.index} cannot be read`)
  return encodeBundle(entries.value.slice(0, name.width))
}

/** All of them each time: what was erased since must leave the copy, too. */
function* bodyFiles({ bodies, signed }: ExportSource): Generator<readonly [string, Uint8Array]> {
  if (bodies === undefined) return
  const { size } = signed.checkpoint
  for (let first = 0; first < size; first += TILE_WIDTH) {
    const records = Array.from({ length: Math.min(TILE_WIDTH, size - first) }, (_, index) => {
      const body = bodies(first + index)
      return body === undefined ? [] : [{ index, ...body }]
    }).flat()
    if (records.length > 0) yield [bodiesPath(first / TILE_WIDTH), encodeBodyRecords(records)]
  }
}
