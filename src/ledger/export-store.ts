/**
 * Export: the ledger as static files in the layout of C2SP tlog-tiles, which anybody can copy, serve and verify.
 *
 *   checkpoint · tile/0/… · tile/1/… · tile/entries/…
 *
 * Tiles and bundles are written first and are durable before the checkpoint that speaks of them replaces the old one,
 * so whoever reads the directory at any moment finds everything that the checkpoint promises. A full tile never
 * changes; an export goes on from the checkpoint that the last one left, and then removes the partial tiles that it
 * outgrew.
 *
 * Does I/O.
 */
import { dirname, join } from 'node:path'
import { makeFolder } from '../core/folder-store.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { readIfThere, removeFile, syncDirectory, writeAtomically, writeWhole } from './atomic-file-store.ts'
import { checkpointFaultReason, checkpointText, openCheckpoint } from './checkpoint.ts'
import type { SignedCheckpoint } from './checkpoint.ts'
import { verifyTiles } from './export-verify.ts'
import type { ExportReport, ExportVerifyOptions } from './export-verify.ts'
import { forkFrom } from './fork.ts'
import type { VerifierKey } from './note-key.ts'
import { encodeBundle, levelCount, TILE_WIDTH, tilePath, tilesOf } from './tile.ts'
import type { TileName } from './tile.ts'

export interface ExportSource {
  readonly key: VerifierKey
  readonly signed: SignedCheckpoint
  readonly rootAt: (size: number) => Uint8Array
  readonly tile: (level: number, index: number, width: number) => Uint8Array
  readonly entries: (from: number, count: number) => readonly Uint8Array[]
}

export type ExportFault =
  /** The directory holds something that this ledger does not extend; it is left as it is. */
  | { readonly kind: 'export-diverged'; readonly directory: string; readonly reason: string }
  | { readonly kind: 'export-unwritable'; readonly directory: string; readonly reason: string }

export interface Exported {
  readonly size: number
  /** Files written this time. */
  readonly files: number
}

export async function writeExport(source: ExportSource, directory: string): Promise<Result<Exported, ExportFault>> {
  try {
    return await write(source, directory)
  } catch (error) {
    // Only what a file system says; anything else is a mistake of ours.
    if (!(error instanceof Error) || !('syscall' in error)) throw error
    return fail({ kind: 'export-unwritable', directory, reason: error.message })
  }
}

async function write(source: ExportSource, directory: string): Promise<Result<Exported, ExportFault>> {
  makeFolder(directory)
  const earlier = await earlierSize(source, directory)
  if (!earlier.ok) return earlier
  const { size } = source.signed.checkpoint
  const wanted = pathsOf(size, earlier.value)
  const directories = new Set<string>()
  for (const name of wanted) {
    const path = join(directory, tilePath(name))
    if (!directories.has(dirname(path))) makeFolder(dirname(path))
    directories.add(dirname(path))
    await writeWhole(path, contentOf(source, name))
  }
  for (const written of directories) await syncDirectory(written)
  await writeAtomically(join(directory, 'checkpoint'), checkpointText(source.signed))

  const current = new Set(wanted.map(tilePath))
  for (const name of pathsOf(earlier.value, earlier.value))
    if (!current.has(tilePath(name)) && name.width < TILE_WIDTH && size > earlier.value)
      await removeFile(join(directory, tilePath(name)))
  return ok({ size, files: wanted.length + 1 })
}

/** Checks an exported copy against the key of its log, with no database. */
export function verifyExport(
  directory: string,
  key: VerifierKey,
  options?: ExportVerifyOptions,
): Promise<ExportReport> {
  return verifyTiles((path) => readIfThere(join(directory, path)), key, options)
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
  const fork = forkFrom(tree, opened.value.checkpoint, 'file')
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
  const done = (level: number) => Math.floor(levelCount(level, earlier) / TILE_WIDTH)
  const tiles = [...tilesOf(size, done)]
  return [...tiles.filter(({ level }) => level === 0).map((tile) => ({ ...tile, level: 'entries' as const })), ...tiles]
}

function contentOf(source: ExportSource, { level, index, width }: TileName): Uint8Array {
  if (level !== 'entries') return source.tile(level, index, width)
  return encodeBundle(source.entries(index * TILE_WIDTH, width))
}
