/**
 * Tile store: the log as files in the layout of C2SP tlog-tiles, and beside them files that are not published.
 *
 *   checkpoint · tile/entries/… · tile/0/… · tile/1/…     with these, anybody can verify the log
 *   bodies/…                                               content that may be erased, by bundle, with its salts
 *   nodes                                                  full tiles with the nodes above them, so that a proof
 *                                                          hashes little; built again when it is lost or wrong
 *   bundle-macs                                            one authenticator per full bundle; likewise
 *
 * The files are durable after `sync`, and no checkpoint covers them before. Until then the tail holds the same entries,
 * and a start writes the files again.
 */
import {
  closeSync,
  constants,
  existsSync,
  fdatasync,
  fdatasyncSync,
  open,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import {
  explainUnusableFile,
  FileUnusableError,
  readBoundedFile,
  readFileRange,
  withRegularFile,
} from '../core/bounded-file-store.ts'
import { createPrivateFolder } from '../core/folder-store.ts'
import { readSystemErrorCode } from '../core/thrown-error.ts'
import { syncDirectory, writeFileWithoutDirectorySync } from './atomic-file-store.ts'
import { BODY_SALT_BYTES, encodeBodyRecords, locateBodyRecords } from './entry-group.ts'
import type { BodyRecordLocation, SaltedBody } from './entry-group.ts'
import { FixedSizeRecordFileStore } from './record-file-store.ts'
import { formatBodiesPath, EXPANDED_TILE_BYTES, TILE_WIDTH, formatTilePath } from './tile.ts'
import type { TileCoordinates } from './tile.ts'

export interface BodiesFileContent {
  readonly bytes: Buffer
  readonly records: readonly BodyRecordLocation[]
}

/** The file at a path: its content, or why it cannot be read; neither where there is no file. */
export interface ExaminedFile<Content> {
  readonly content: Content | undefined
  readonly reason: string | undefined
}

/**
 * More than any tile, bundle or checkpoint has. A file that is longer than expected but below this limit is read,
 * compared and found different.
 */
const MAX_FILE_BYTES = 33_554_432
/** The records of a larger file of bodies are counted before it is read. */
const MAX_UNCOUNTED_BYTES = 16_777_216

const MAC_BYTES = 32

// A planted link must not lead out of the folder, and opening a planted pipe must not wait.
const REPLACE_CONTENT =
  constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW | constants.O_NONBLOCK
const openFile = promisify(open)
const CHANGE_CONTENT = constants.O_RDWR | constants.O_NOFOLLOW

export class TileStore {
  readonly #directory: string
  readonly #isWritable: boolean
  readonly #folders = new Set<string>()
  /** Files written since the last sync. */
  #unsynced = new Set<string>()
  #unsyncedFolders = new Set<string>()
  /** Folders of partial tiles whose full tile was written since the last sync. */
  #outgrown: string[] = []
  readonly #nodes: FixedSizeRecordFileStore
  /** The authenticators of full bundles, by the bundle's index. */
  readonly bundleMacs: FixedSizeRecordFileStore

  constructor(directory: string, isWritable: boolean) {
    this.#directory = directory
    this.#isWritable = isWritable
    this.#nodes = new FixedSizeRecordFileStore({
      path: join(directory, 'nodes'),
      recordBytes: EXPANDED_TILE_BYTES,
      isWritable,
    })
    this.bundleMacs = new FixedSizeRecordFileStore({
      path: join(directory, 'bundle-macs'),
      recordBytes: MAC_BYTES,
      isWritable,
    })
  }

  /** The content; `undefined` when there is no such file, or something else in its place. */
  read(path: string): Buffer | undefined {
    return this.#ifUsable(() => this.#read(path))
  }

  /** Reads a file for a verifier, and also says why it cannot be read. */
  examine(path: string): ExaminedFile<Buffer> {
    return examined(() => this.#read(path))
  }

  examineBodies(index: number): ExaminedFile<BodiesFileContent> {
    return examined(() => this.#readBodies(index))
  }

  has(path: string): boolean {
    return existsSync(join(this.#directory, path))
  }

  tile(name: TileCoordinates): Buffer | undefined {
    return this.read(formatTilePath(name))
  }

  /** The widths of the partial tiles that exist beside the full one, or before it. */
  partialWidths(name: TileCoordinates): readonly number[] {
    try {
      return readdirSync(join(this.#directory, `${formatTilePath(name)}.p`))
        .map(Number)
        .filter((width) => Number.isInteger(width))
        .toSorted((one, other) => one - other)
    } catch (error) {
      if (readSystemErrorCode(error) === 'ENOENT' || readSystemErrorCode(error) === 'ENOTDIR') return []
      throw error
    }
  }

  writeTile(name: TileCoordinates, content: Uint8Array): void {
    this.#write(formatTilePath(name), content)
    if (name.width === TILE_WIDTH) this.#outgrown.push(`${formatTilePath(name)}.p`)
  }

  /** Writes tiles. Their contents are durable when it resolves; their names are durable after `sync`. */
  async writeTiles(tiles: Iterable<{ readonly name: TileCoordinates; readonly content: Uint8Array }>): Promise<void> {
    // One after another: each step wakes a thread that the syncs of the tail, and all callers, compete with.
    for (const { name, content } of tiles) {
      // A tile under its name is always complete, even if the power fails while it is written: nobody would write a
      // partial tile again whose checkpoint was never signed.
      await writeFileWithoutDirectorySync(this.#place(formatTilePath(name)), content, 0o600)
      if (name.width === TILE_WIDTH) this.#outgrown.push(`${formatTilePath(name)}.p`)
    }
  }

  /** The bodies of a bundle; `undefined` when the file is missing, or not a file of bodies. */
  bodies(index: number): BodiesFileContent | undefined {
    return this.#ifUsable(() => this.#readBodies(index))
  }

  /**
   * Creates the files that `writeBodies` will fill. To create a file can take as long as a sync, so it happens beside
   * the event loop.
   */
  async createBodyFiles(indexes: readonly number[]): Promise<void> {
    for (const index of indexes) closeSync(await openFile(this.#place(formatBodiesPath(index)), REPLACE_CONTENT, 0o600))
  }

  writeBodies(index: number, bodies: readonly (SaltedBody & { readonly index: number })[]): void {
    if (bodies.length > 0) this.#write(formatBodiesPath(index), encodeBodyRecords(bodies))
  }

  /** Overwrites a body in place, as the file is now; durable when it returns. */
  wipeBody(index: number, at: number): void {
    const stored = this.bodies(index)
    const record = stored?.records.find((one) => one.index === at)
    if (stored === undefined || record === undefined) return
    const { offset, length } = record
    const path = join(this.#directory, formatBodiesPath(index))
    const zeros = Buffer.alloc(BODY_SALT_BYTES + length)
    const file = openUnlessLink(path, CHANGE_CONTENT)
    if (file === undefined) {
      stored.bytes.set(zeros, offset)
      return replaceLink(path, stored.bytes)
    }
    try {
      writeSync(file, zeros, 0, zeros.length, offset)
      fdatasyncSync(file)
    } finally {
      closeSync(file)
    }
  }

  /** The cached nodes; `undefined` where none are stored. A proof made from them is verified before it is returned. */
  nodes(index: number): Uint8Array | undefined {
    const nodes = this.#nodes.read(index)
    // A hole in the file reads as zeros, which are never a hash.
    return nodes?.subarray(-32).some((byte) => byte !== 0) === true ? nodes : undefined
  }

  writeNodes(index: number, nodes: Uint8Array): void {
    this.#nodes.write(index, nodes)
  }

  /** When this resolves, everything that was written before is durable. */
  async sync(): Promise<void> {
    const [paths, folders, outgrown] = [this.#unsynced, this.#unsyncedFolders, this.#outgrown]
    this.#unsynced = new Set()
    this.#unsyncedFolders = new Set()
    this.#outgrown = []
    for (const path of paths) {
      await syncFile(path)
    }
    for (const folder of folders) await syncDirectory(folder)
    // Partial tiles are removed only now that the full ones are durable, so that a reader with an older checkpoint
    // finds one or the other.
    for (const folder of outgrown)
      if (this.has(folder)) await rm(join(this.#directory, folder), { recursive: true, force: true })
  }

  close(): void {
    this.#nodes.close()
    this.bundleMacs.close()
  }

  #ifUsable<Content>(read: () => Content): Content | undefined {
    try {
      return read()
    } catch (error) {
      const code = readSystemErrorCode(error)
      // A reader can go on without the file, and reports it; a writer must not.
      if (code === 'ENOENT' || code === 'ENOTDIR' || error instanceof FileUnusableError || !this.#isWritable)
        return undefined
      throw error
    }
  }

  #read(path: string): Buffer {
    return readBoundedFile(join(this.#directory, path), MAX_FILE_BYTES)
  }

  #readBodies(index: number): BodiesFileContent {
    const path = join(this.#directory, formatBodiesPath(index))
    const bytes = withRegularFile(path, (file, size) => {
      if (size > MAX_UNCOUNTED_BYTES && !isWholeBodyFile(file, size)) throw new FileUnusableError(path, NOT_WHOLE)
      return readFileRange(file, 0, size)
    })
    const records = locateBodyRecords(bytes, 0, bytes.length)
    if (records === undefined) throw new FileUnusableError(path, NOT_WHOLE)
    return { bytes, records }
  }

  #write(name: string, content: Uint8Array): void {
    const path = this.#place(name)
    const file = openSync(path, REPLACE_CONTENT, 0o600)
    try {
      writeFileSync(file, content)
    } finally {
      closeSync(file)
    }
    this.#unsynced.add(path)
  }

  /**
   * The path of a file that will be written. Creates its folder, and notes that the names in the folder have to be
   * synced.
   */
  #place(name: string): string {
    const path = join(this.#directory, name)
    const folder = dirname(path)
    if (!this.#folders.has(folder)) {
      createPrivateFolder(folder)
      this.#folders.add(folder)
    }
    for (let at = folder; at.length >= this.#directory.length; at = dirname(at)) this.#unsyncedFolders.add(at)
    return path
  }
}

/** `undefined` for a link. */
function openUnlessLink(path: string, flags: number): number | undefined {
  try {
    return openSync(path, flags)
  } catch (error) {
    if (readSystemErrorCode(error) === 'ELOOP') return undefined
    throw error
  }
}

/** A link that another program planted is replaced, and the file behind it, which may be anybody's, is left alone. */
function replaceLink(path: string, content: Uint8Array): void {
  const draft = `${path}.new`
  rmSync(draft, { recursive: true, force: true })
  writeFileSync(draft, content, { mode: 0o600, flag: 'wx', flush: true })
  renameSync(draft, path)
}

const NOT_WHOLE = 'it is not whole'
/** The index and length before the salt. */
const BODY_HEAD_BYTES = 8

/** Whether the lengths in the file are those of the bodies of one bundle. */
function isWholeBodyFile(file: number, size: number): boolean {
  let at = 0
  for (let count = 0; at < size && count <= TILE_WIDTH; count++) {
    const head = readFileRange(file, at, BODY_HEAD_BYTES)
    if (head.length < BODY_HEAD_BYTES) return false
    at += BODY_HEAD_BYTES + BODY_SALT_BYTES + head.readUInt32BE(4)
  }
  return at === size
}

function examined<Content>(read: () => Content): ExaminedFile<Content> {
  try {
    return { content: read(), reason: undefined }
  } catch (error) {
    return { content: undefined, reason: explainUnusableFile(error) }
  }
}

/**
 * Only the sync runs beside the event loop: a busy node has hundreds of such files, and each step outside of it takes
 * time.
 */
async function syncFile(path: string): Promise<void> {
  const file = openSync(path, 'r')
  try {
    await new Promise<void>((resolve, reject) => {
      fdatasync(file, (error) => (error === null ? resolve() : reject(error)))
    })
  } finally {
    closeSync(file)
  }
}
