/**
 * Tile: 256 neighbouring hashes of one height, as C2SP tlog-tiles cuts the tree and names its files.
 *
 *   tile/0/x001/234        256 leaf hashes                     tile/entries/x001/234   the 256 entries themselves
 *   tile/1/004.p/210       210 roots of full level-0 tiles     length (16 bit) ‖ bytes, one after another
 *
 * A tile is kept as its hashes only; `expandTile` computes the eight heights above them, laid out one after another:
 *
 *   height in tile   0 …… 255 │ 1 …… 128 │ 2 … 64 │ … │ 7: 2 │ 8: 1 (the tile's root)
 */
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { MAX_ENTRY_BYTES } from './entry.ts'
import { HASH_BYTES, writeNodeHashToBuffer } from './tree.ts'

export const TILE_WIDTH = 256
export const TILE_HEIGHT = 8
export const TILE_BYTES = TILE_WIDTH * HASH_BYTES
const NODES_IN_TILE = 2 * TILE_WIDTH - 1
/** The size of a tile with everything that is computed from it. */
export const EXPANDED_TILE_BYTES = NODES_IN_TILE * HASH_BYTES

export interface TileCoordinates {
  readonly level: number | 'entries'
  readonly index: number
  /** 1 … 256; below 256 the tile is partial. */
  readonly width: number
}

/** 1234067 → `x001/x234/067`: directories stay small and a tile never has the name of a directory. */
export function formatTilePath({ level, index, width }: TileCoordinates): string {
  return `tile/${level}/${indexPath(index)}${width === TILE_WIDTH ? '' : `.p/${width}`}`
}

/** Where the bodies of a bundle's entries are stored: beside the tiles, under the same number. */
export function formatBodiesPath(index: number): string {
  return `bodies/${indexPath(index)}`
}

function indexPath(index: number): string {
  const groups: string[] = []
  for (let left = index, first = true; first || left > 0; left = Math.floor(left / 1_000), first = false)
    groups.unshift((first ? '' : 'x') + String(left % 1_000).padStart(3, '0'))
  return groups.join('/')
}

/** How many hashes level `level` of a tree holds: one per complete subtree of 256^level leaves. */
export function countLevelHashes(level: number, size: number): number {
  return Math.floor(size / TILE_WIDTH ** level)
}

/** Every tile of a tree from index `from(level)` on, level by level; empty tiles do not exist. */
export function* listTiles(size: number, from: (level: number) => number = () => 0): Generator<TileCoordinates> {
  for (let level = 0; countLevelHashes(level, size) > 0; level++) {
    const count = countLevelHashes(level, size)
    for (let index = from(level); index * TILE_WIDTH < count; index++)
      yield { level, index, width: Math.min(TILE_WIDTH, count - index * TILE_WIDTH) }
  }
}

/**
 * The nodes of a tile, complete ones only. Nodes that a partial tile does not complete stay zero and are never read.
 */
export function expandTile(hashes: Uint8Array): Buffer {
  const nodes = allocateTileNodes()
  nodes.set(hashes, 0)
  for (let height = 1, count = hashes.length / HASH_BYTES / 2; count >= 1; height++, count /= 2)
    for (let index = 0; index + 1 <= count; index++)
      writeNodeHashToBuffer(nodes, tileNodeOffset(height - 1, 2 * index), tileNodeOffset(height, index))
  return nodes
}

export function allocateTileNodes(): Buffer {
  return Buffer.alloc(EXPANDED_TILE_BYTES)
}

/** A view, not a copy. */
export function readTileNode(nodes: Uint8Array, height: number, index: number): Uint8Array {
  const at = tileNodeOffset(height, index)
  // Returns a plain Uint8Array, even from a Buffer, because proofs contain it.
  return new Uint8Array(nodes.buffer, nodes.byteOffset + at, HASH_BYTES)
}

/** The offset of the node at a height, 0 … 8, within the tile. */
export function tileNodeOffset(height: number, index: number): number {
  return (2 * TILE_WIDTH - 2 ** (TILE_HEIGHT + 1 - height) + index) * HASH_BYTES
}

export function encodeEntryBundle(entries: readonly Uint8Array[]): Uint8Array {
  const bundle = Buffer.alloc(entries.reduce((bytes, entry) => bytes + 2 + entry.length, 0))
  let at = 0
  for (const entry of entries) {
    if (entry.length > MAX_ENTRY_BYTES) throw new RangeError(`entry of ${entry.length} bytes in a bundle`)
    bundle.writeUInt16BE(entry.length, at)
    bundle.set(entry, at + 2)
    at += 2 + entry.length
  }
  return bundle
}

export type EntryBundleFault = { readonly kind: 'cut-off' } | { readonly kind: 'wrong-count'; readonly count: number }

export function decodeEntryBundle(bundle: Uint8Array, width: number): Result<readonly Uint8Array[], EntryBundleFault> {
  const entries: Uint8Array[] = []
  for (let at = 0; at < bundle.length;) {
    const [high, low] = [bundle[at], bundle[at + 1]]
    if (high === undefined || low === undefined) return fail({ kind: 'cut-off' })
    const end = at + 2 + high * 256 + low
    if (end > bundle.length) return fail({ kind: 'cut-off' })
    entries.push(bundle.subarray(at + 2, end))
    at = end
  }
  return entries.length === width ? ok(entries) : fail({ kind: 'wrong-count', count: entries.length })
}
