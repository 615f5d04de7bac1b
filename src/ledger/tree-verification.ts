/**
 * Tree verification: compares the published files, entry bundles and tiles, with each other and with the signed
 * checkpoints. It reads nothing else, so that a running log, a copy and an export give the same findings.
 *
 *   entries ▸ leaf hashes = tile 0 ▸ its root stands in tile 1 ▸ … ▸ the signed root
 *
 * Where a bundle and its tile disagree, the tile above shows which of them was changed, and the hashes of the other are
 * used for the tree: a changed file is one finding, and the files after it are still compared. The last tile of a level
 * has nothing above it but the signed root, which finally decides which hashes were right.
 *
 * Reads through the store it is given.
 */
import { areBytesEqual } from '../core/bytes.ts'
import type { Checkpoint } from './checkpoint.ts'
import type { ExpectedCheckpointRoots } from './expected-roots.ts'
import type { LedgerFindings } from './ledger-finding.ts'
import { MerkleTreeRightEdge } from './stored-tree.ts'
import type { CompletedTile } from './stored-tree.ts'
import {
  countLevelHashes,
  decodeEntryBundle,
  encodeEntryBundle,
  expandTile,
  formatTilePath,
  listTiles,
  readTileNode,
  TILE_BYTES,
  TILE_HEIGHT,
  TILE_WIDTH,
} from './tile.ts'
import type { TileCoordinates } from './tile.ts'
import type { TileStore } from './tile-store.ts'
import { computeRootAt, HASH_BYTES, writeLeafHashToBuffer } from './tree.ts'

export interface TreeVerificationOptions {
  readonly tiles: Pick<TileStore, 'examine' | 'partialWidths'>
  readonly findings: LedgerFindings
  readonly roots: ExpectedCheckpointRoots
  /** The checkpoint beside the tiles. Without one, the tiles may still be written, and are not compared. */
  readonly published: Checkpoint | undefined
  /** A multiple of 256; the entries before it are taken from full tiles. */
  readonly from: number
}

/** The entries by position; `undefined` for one that is missing, or is not the signed one. */
export type BundledEntries = readonly (Uint8Array | undefined)[]

export class TreeVerification {
  readonly #options: TreeVerificationOptions
  /** `undefined` once hashes are missing, because the tree after a gap is unknown. */
  #edge: MerkleTreeRightEdge | undefined

  constructor(options: TreeVerificationOptions) {
    this.#options = options
    this.#edge = MerkleTreeRightEdge.at(
      options.from,
      (level, first, count) => this.#tileRoots(level - 1, first, count),
      this.#checkTile,
    )
    options.roots.reached(options.from, this.#edge)
  }

  root(): Uint8Array | undefined {
    return this.#edge?.root()
  }

  /**
   * Reads the first entries of a bundle from its file, and appends them to the tree. `others`: the same entries from
   * another source, if there is one.
   */
  readBundle(index: number, width: number, others: readonly Uint8Array[]): BundledEntries {
    const entries = this.#entriesOf(index, width)
    if (index * TILE_WIDTH + width > (this.#options.published?.size ?? 0)) {
      this.#grow(entries && hashLeaves(entries))
      return entries ?? []
    }
    const hashes = this.#hashesOf(index, width)
    const leaves = entries && hashLeaves(entries)
    if (leaves !== undefined && hashes !== undefined && areBytesEqual(leaves, hashes)) {
      this.#grow(leaves)
      return entries ?? []
    }
    return this.#findChanged({ index, width, entries, leaves, hashes, others })
  }

  /** Appends an entry that need not be in a file yet. */
  append(entry: Uint8Array): void {
    const edge = this.#edge
    if (edge === undefined) return
    edge.appendEntry(entry)
    this.#options.roots.reached(edge.size, edge)
  }

  /** Notes that the next entry cannot be read. */
  lose(): void {
    this.#edge = undefined
  }

  /** Finds out whether the bundle or its tile was changed. */
  #findChanged({ index, width, entries, leaves, hashes, others }: Disagreement): BundledEntries {
    const path = formatTilePath({ level: 'entries', index, width })
    const isTileSigned = hashes?.length === width * HASH_BYTES && this.#isSigned(index, hashes)
    if (entries === undefined || leaves === undefined) {
      this.#grow(isTileSigned ? hashes : others.length === width ? hashLeaves(others) : undefined)
      return []
    }
    if (!isTileSigned || this.#isSigned(index, leaves)) {
      if (hashes !== undefined) this.#findDifferent({ level: 0, index, width })
      this.#grow(leaves)
      return entries
    }
    const known = entries.map((entry, at) => (isSameHash(leaves, hashes, at) ? entry : undefined))
    const count = known.filter((entry) => entry === undefined).length
    const seq = index * TILE_WIDTH + known.indexOf(undefined)
    this.#options.findings.add({ kind: 'bundle-differs', path, seq, count })
    this.#grow(hashes)
    return known
  }

  /** Whether the tile above has the root of these leaves; for the last leaves, whether the signed root has it. */
  #isSigned(index: number, leaves: Uint8Array): boolean {
    const { published } = this.#options
    const edge = this.#edge
    if (published === undefined) return false
    const nodes = expandTile(leaves)
    if (leaves.length === TILE_BYTES) {
      const [above, at] = [Math.floor(index / TILE_WIDTH), index % TILE_WIDTH]
      const width = Math.min(TILE_WIDTH, countLevelHashes(1, published.size) - above * TILE_WIDTH)
      const parent = this.#read({ level: 1, index: above, width })?.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES)
      return parent !== undefined && areBytesEqual(parent, readTileNode(nodes, TILE_HEIGHT, 0))
    }
    if (edge === undefined) return false
    const first = index * TILE_WIDTH
    const root = computeRootAt(published.size, (height, place) => {
      const within = place - first / 2 ** height
      const node = within >= 0 ? readTileNode(nodes, height, within) : edge.node(height, place)
      if (node === undefined) throw new Error(`node ${height},${place} is not on the edge of a tree of ${edge.size}`)
      return node
    })
    return areBytesEqual(root, published.root)
  }

  #grow(leaves: Uint8Array | undefined): void {
    const { roots, published } = this.#options
    const edge = this.#edge
    if (edge === undefined || leaves === undefined) {
      this.#edge = undefined
      return
    }
    let done = 0
    const count = leaves.length / HASH_BYTES
    for (let at = 1; at <= count; at++) {
      if (at < count && !roots.has(edge.size + at - done)) continue
      edge.appendLeaves(leaves.subarray(done * HASH_BYTES, at * HASH_BYTES))
      done = at
      roots.reached(edge.size, edge)
    }
    if (edge.size === published?.size) this.#checkPartials(edge)
  }

  #entriesOf(index: number, width: number): readonly Uint8Array[] | undefined {
    const name = { level: 'entries', index, width } as const
    const path = formatTilePath(name)
    const bundle = this.#read(name)
    if (bundle === undefined) return this.#findMissing(path)
    const decoded = decodeEntryBundle(bundle, width)
    if (decoded.ok) return decoded.value
    const { fault } = decoded
    const reason = fault.kind === 'cut-off' ? 'it ends in the middle of an entry' : `it holds ${fault.count} entries`
    this.#options.findings.add({ kind: 'bundle-unreadable', path, reason })
    return undefined
  }

  #hashesOf(index: number, width: number): Uint8Array | undefined {
    const name = { level: 0, index, width }
    return this.#read(name) ?? this.#findMissing(formatTilePath(name))
  }

  /** A partial tile may be removed once the full one exists, which begins with the same hashes. */
  #read(name: TileCoordinates): Buffer | undefined {
    const { tiles } = this.#options
    const { content, reason } = tiles.examine(formatTilePath(name))
    if (content !== undefined || reason !== undefined || name.width === TILE_WIDTH) return content
    const full = tiles.examine(formatTilePath({ ...name, width: TILE_WIDTH })).content
    if (full === undefined || name.level !== 'entries') return full?.subarray(0, name.width * HASH_BYTES)
    const entries = decodeEntryBundle(full, TILE_WIDTH)
    return entries.ok ? Buffer.from(encodeEntryBundle(entries.value.slice(0, name.width))) : undefined
  }

  #findMissing(path: string): undefined {
    const { reason } = this.#options.tiles.examine(path)
    this.#options.findings.add(
      reason === undefined ? { kind: 'file-missing', path } : { kind: 'file-unreadable', path, reason },
    )
  }

  #findDifferent(name: TileCoordinates): void {
    this.#options.findings.add({ kind: 'tile-differs', path: formatTilePath(name) })
  }

  /** Tiles of level 0 are not checked here, since they were compared with their bundles. */
  readonly #checkTile = ({ level, index, nodes }: CompletedTile): void => {
    const size = this.#options.published?.size ?? 0
    if (level === 0 || (index + 1) * TILE_WIDTH ** (level + 1) > size) return
    this.#compare({ level, index, width: TILE_WIDTH }, nodes.subarray(0, TILE_BYTES))
  }

  #compare(name: TileCoordinates, hashes: Uint8Array): void {
    const stored = this.#read(name)
    if (stored === undefined) this.#findMissing(formatTilePath(name))
    else if (!areBytesEqual(stored, hashes)) this.#findDifferent(name)
  }

  /**
   * Checks the partial tiles that a reader of the checkpoint requests, and narrower ones, which stay for readers of an
   * older checkpoint. They hold the first hashes, or entries, of the wider ones.
   */
  #checkPartials(edge: MerkleTreeRightEdge): void {
    for (const name of listTiles(edge.size)) {
      const { level, index, width } = name
      if (width === TILE_WIDTH || level === 'entries') continue
      const hashes = Buffer.concat(
        Array.from({ length: width }, (_, at) => edge.node(level * TILE_HEIGHT, index * TILE_WIDTH + at)).map(
          (hash) => hash ?? new Uint8Array(0),
        ),
      )
      if (level > 0) this.#compare(name, hashes)
      for (const narrow of this.#narrower(name)) this.#compare(narrow, hashes.subarray(0, narrow.width * HASH_BYTES))
      if (level === 0)
        for (const narrow of this.#narrower({ ...name, level: 'entries' })) this.#compareBundle(narrow, hashes)
    }
  }

  /** Wider partial tiles are ignored: they belong to a later checkpoint, which a running node may be signing. */
  #narrower({ level, index, width: widest }: TileCoordinates): readonly TileCoordinates[] {
    const widths = this.#options.tiles.partialWidths({ level, index, width: TILE_WIDTH })
    return widths.filter((width) => width > 0 && width < widest).map((width) => ({ level, index, width }))
  }

  #compareBundle({ index, width }: TileCoordinates, hashes: Uint8Array): void {
    const entries = this.#entriesOf(index, width)
    const leaves = entries && hashLeaves(entries)
    if (leaves === undefined) return
    const others = Array.from({ length: width }, (_, at) => at).filter((at) => !isSameHash(leaves, hashes, at))
    const [first] = others
    if (first === undefined) return
    const path = formatTilePath({ level: 'entries', index, width })
    this.#options.findings.add({
      kind: 'bundle-differs',
      path,
      seq: index * TILE_WIDTH + first,
      count: others.length,
    })
  }

  #tileRoots(level: number, from: number, count: number): Uint8Array {
    return Buffer.concat(
      Array.from({ length: count }, (_, offset) => {
        const name = { level, index: from + offset, width: TILE_WIDTH }
        const hashes = this.#read(name)
        if (hashes?.length !== TILE_BYTES) throw new Error(`${formatTilePath(name)} is not a full tile`)
        return readTileNode(expandTile(hashes), TILE_HEIGHT, 0)
      }),
    )
  }
}

interface Disagreement {
  readonly index: number
  readonly width: number
  readonly entries: readonly Uint8Array[] | undefined
  readonly leaves: Uint8Array | undefined
  readonly hashes: Uint8Array | undefined
  readonly others: readonly Uint8Array[]
}

function hashLeaves(entries: readonly Uint8Array[]): Buffer {
  const leaves = Buffer.allocUnsafe(entries.length * HASH_BYTES)
  for (const [at, entry] of entries.entries()) writeLeafHashToBuffer(entry, leaves, at * HASH_BYTES)
  return leaves
}

function isSameHash(one: Uint8Array, other: Uint8Array, at: number): boolean {
  const [from, to] = [at * HASH_BYTES, (at + 1) * HASH_BYTES]
  return areBytesEqual(one.subarray(from, to), other.subarray(from, to))
}
