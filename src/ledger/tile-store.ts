/**
 * Tile store: the log as files in the layout of C2SP tlog-tiles, and beside them what is not for strangers.
 *
 *   checkpoint · tile/entries/… · tile/0/… · tile/1/…     whoever has these can verify the log
 *   bodies/…                                               content that may be erased, by bundle, with its salts
 *   nodes                                                  full tiles with the nodes above them, so that a proof
 *                                                          hashes little; made anew when it is lost or wrong
 *   bundle-macs                                            one authenticator per full bundle; likewise
 *
 * They are durable after `sync`, and no checkpoint speaks of them before. Until then the tail holds the same entries, and
 * a start writes them anew.
 */
import {
  closeSync,
  constants,
  existsSync,
  fdatasync,
  fdatasyncSync,
  openSync,
  readdirSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import {
  explainUnreadableFile,
  FileUnusableError,
  readBoundedFile,
  readFileRange,
  withRegularFile,
} from '../core/bounded-file-store.ts'
import { createPrivateFolder } from '../core/folder-store.ts'
import { readSystemErrorCode } from '../core/thrown-error.ts'
import { syncDirectory, writeFileWithoutDirectorySync } from './atomic-file-store.ts'
import { BODY_SALT_BYTES, encodeBodyRecords, readBodyRecords } from './entry-group.ts'
import type { BodyRecordLocation, SaltedBody } from './entry-group.ts'
import { RecordFileStore } from './record-file-store.ts'
import { formatBodiesPath, EXPANDED_TILE_BYTES, TILE_WIDTH, formatTilePath } from './tile.ts'
import type { TileCoordinates } from './tile.ts'

export interface StoredBodies {
  readonly bytes: Buffer
  readonly records: readonly BodyRecordLocation[]
}

/** What is under a name: its content, or why that cannot be read; neither where there is nothing. */
export interface ExaminedFile<Content> {
  readonly content: Content | undefined
  readonly reason: string | undefined
}

/** More than any tile, bundle or checkpoint has: what is only somewhat too long is compared, and differs. */
const MAX_FILE_BYTES = 33_554_432
/** Larger files of bodies are counted through before they are read. */
const MAX_UNCOUNTED_BYTES = 16_777_216

/** Two at a time: they share syncs of the file system's own journal, and leave threads for the tail's. */
const WRITERS = 2

const MAC_BYTES = 32

// Neither may lead out of the folder through a planted link; a pipe that somebody put there is not waited for.
const REPLACE_CONTENT =
  constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW | constants.O_NONBLOCK
const CHANGE_CONTENT = constants.O_RDWR | constants.O_NOFOLLOW

export class TileStore {
  readonly #directory: string
  readonly #isWritable: boolean
  readonly #folders = new Set<string>()
  /** Files written since the last sync. */
  #unsynced = new Set<string>()
  #unsyncedFolders = new Set<string>()
  /** Folders of partial tiles whose full one was written since the last sync. */
  #outgrown: string[] = []
  readonly #nodes: RecordFileStore
  /** The authenticators of full bundles, by the bundle's index. */
  readonly bundleMacs: RecordFileStore

  constructor(directory: string, isWritable: boolean) {
    this.#directory = directory
    this.#isWritable = isWritable
    this.#nodes = new RecordFileStore({ path: join(directory, 'nodes'), recordBytes: EXPANDED_TILE_BYTES, isWritable })
    this.bundleMacs = new RecordFileStore({ path: join(directory, 'bundle-macs'), recordBytes: MAC_BYTES, isWritable })
  }

  /** `undefined` when there is no such file, or something else in its place. */
  read(path: string): Buffer | undefined {
    return this.#ifUsable(() => this.#read(path))
  }

  /** For whoever verifies: also says why something cannot be read. */
  examine(path: string): ExaminedFile<Buffer> {
    return examined(() => this.#read(path))
  }

  examineBodies(index: number): ExaminedFile<StoredBodies> {
    return examined(() => this.#readBodies(index))
  }

  has(path: string): boolean {
    return existsSync(join(this.#directory, path))
  }

  tile(name: TileCoordinates): Buffer | undefined {
    return this.read(formatTilePath(name))
  }

  /** Which partial tiles there are beside the full one, or before it. */
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

  /** All of them are durable when it resolves, but for their names, which `sync` sees to. */
  async writeTiles(tiles: Iterable<{ readonly name: TileCoordinates; readonly content: Uint8Array }>): Promise<void> {
    const waiting = tiles[Symbol.iterator]()
    const write = async (): Promise<void> => {
      for (let next = waiting.next(); next.done !== true; next = waiting.next()) {
        const { name, content } = next.value
        // Under its name a tile is whole, also after the power went out while it was written: nobody writes a partial
        // one again whose checkpoint was never signed.
        await writeFileWithoutDirectorySync(this.#place(formatTilePath(name)), content, 0o600)
        if (name.width === TILE_WIDTH) this.#outgrown.push(`${formatTilePath(name)}.p`)
      }
    }
    const ends = await Promise.allSettled(Array.from({ length: WRITERS }, write))
    // Only when none of them writes any more: whoever tries again writes the same files.
    for (const end of ends) if (end.status === 'rejected') throw end.reason
  }

  /** `undefined` when there is none, or it is not one. */
  bodies(index: number): StoredBodies | undefined {
    return this.#ifUsable(() => this.#readBodies(index))
  }

  writeBodies(index: number, bodies: readonly (SaltedBody & { readonly index: number })[]): void {
    if (bodies.length > 0) this.#write(formatBodiesPath(index), encodeBodyRecords(bodies))
  }

  /** Overwrites a body in place; durable when it returns. */
  wipeBody(index: number, { offset, length }: BodyRecordLocation): void {
    const file = openSync(join(this.#directory, formatBodiesPath(index)), CHANGE_CONTENT)
    try {
      writeSync(file, Buffer.alloc(BODY_SALT_BYTES + length), 0, BODY_SALT_BYTES + length, offset)
      fdatasyncSync(file)
    } finally {
      closeSync(file)
    }
  }

  /** `undefined` where nothing is stored. A proof made of it is verified before it is given out. */
  nodes(index: number): Uint8Array | undefined {
    const nodes = this.#nodes.read(index)
    // A hole in the file reads as zeros, which is never a hash.
    return nodes?.subarray(-32).some((byte) => byte !== 0) === true ? nodes : undefined
  }

  keepNodes(index: number, nodes: Uint8Array): void {
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
    // Only now that the full ones are durable, so that a reader with an older checkpoint finds either.
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
      // Who only reads can go on without it, and say what is wrong; who writes must not.
      if (code === 'ENOENT' || code === 'ENOTDIR' || error instanceof FileUnusableError || !this.#isWritable)
        return undefined
      throw error
    }
  }

  #read(path: string): Buffer {
    return readBoundedFile(join(this.#directory, path), MAX_FILE_BYTES)
  }

  #readBodies(index: number): StoredBodies {
    const path = join(this.#directory, formatBodiesPath(index))
    const bytes = withRegularFile(path, (file, size) => {
      if (size > MAX_UNCOUNTED_BYTES && !isWholeBodyFile(file, size)) throw new FileUnusableError(path, NOT_WHOLE)
      return readFileRange(file, 0, size)
    })
    const records = readBodyRecords(bytes, 0, bytes.length)
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

  /** Where a file comes to stand: its folder is there, and the names in it are to be synced. */
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

const NOT_WHOLE = 'it is not whole'
/** Index and length, before the salt. */
const BODY_HEAD_BYTES = 8

/** Whether it consists of the bodies of one bundle, by their lengths. */
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
    return { content: undefined, reason: explainUnreadableFile(error) }
  }
}

/** Only the sync is waited for beside the event loop: a busy node has hundreds of such files, and each step there costs. */
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
