/**
 * Tile store: the log as files in the layout of C2SP tlog-tiles, and beside them what is not for strangers.
 *
 *   checkpoint · tile/entries/… · tile/0/… · tile/1/…     whoever has these can verify the log
 *   bodies/…                                               content that may be erased, by bundle, with its salts
 *   nodes                                                  full tiles with the nodes above them, so that a proof
 *                                                          hashes little; made anew when it is lost or wrong
 *
 * They are durable after `sync`, and no checkpoint speaks of them before. Until then the tail holds the same entries, and
 * a start writes them anew.
 */
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { makeFolder } from '../core/folder-store.ts'
import { systemErrorCode } from '../core/thrown.ts'
import { syncDirectory } from './atomic-file-store.ts'
import { SALT_BYTES, encodeBodyRecords, readBodyRecords } from './group.ts'
import type { BodyRecord, SaltedBody } from './group.ts'
import { bodiesPath, EXPANDED_BYTES, TILE_WIDTH, tilePath } from './tile.ts'
import type { TileName } from './tile.ts'

export interface StoredBodies {
  readonly bytes: Buffer
  readonly records: readonly BodyRecord[]
}

export class TileStore {
  readonly #directory: string
  readonly #folders = new Set<string>()
  /** Written since the last sync. */
  #unsynced = new Set<string>()
  /** Folders of partial tiles whose full one was written since the last sync. */
  #outgrown: string[] = []
  #nodes: number | undefined

  readonly #isWritable: boolean

  constructor(directory: string, isWritable: boolean) {
    this.#directory = directory
    this.#isWritable = isWritable
  }

  /** `undefined` when there is no such file. */
  read(path: string): Buffer | undefined {
    try {
      return readFileSync(join(this.#directory, path))
    } catch (error) {
      if (systemErrorCode(error) === 'ENOENT' || systemErrorCode(error) === 'ENOTDIR') return undefined
      throw error
    }
  }

  has(path: string): boolean {
    return existsSync(join(this.#directory, path))
  }

  tile(name: TileName): Buffer | undefined {
    return this.read(tilePath(name))
  }

  /** Which partial tiles there are beside the full one, or before it. */
  partialWidths(name: TileName): readonly number[] {
    try {
      return readdirSync(join(this.#directory, `${tilePath(name)}.p`))
        .map(Number)
        .filter((width) => Number.isInteger(width))
        .toSorted((one, other) => one - other)
    } catch (error) {
      if (systemErrorCode(error) === 'ENOENT' || systemErrorCode(error) === 'ENOTDIR') return []
      throw error
    }
  }

  writeTile(name: TileName, content: Uint8Array): void {
    this.#write(tilePath(name), content)
    if (name.width === TILE_WIDTH) this.#outgrown.push(`${tilePath(name)}.p`)
  }

  /** `undefined` when there is none, or it is not one. */
  bodies(index: number): StoredBodies | undefined {
    const bytes = this.read(bodiesPath(index))
    const records = bytes && readBodyRecords(bytes, 0, bytes.length)
    return bytes && records && { bytes, records }
  }

  writeBodies(index: number, bodies: readonly (SaltedBody & { readonly index: number })[]): void {
    if (bodies.length > 0) this.#write(bodiesPath(index), encodeBodyRecords(bodies))
  }

  /** Overwrites a body in place; durable when it returns. */
  wipeBody(index: number, { offset, length }: BodyRecord): void {
    const file = openSync(join(this.#directory, bodiesPath(index)), 'r+')
    try {
      writeSync(file, Buffer.alloc(SALT_BYTES + length), 0, SALT_BYTES + length, offset)
      fdatasyncSync(file)
    } finally {
      closeSync(file)
    }
  }

  /** `undefined` where nothing was kept. What it says is checked by whoever gives out a proof made of it. */
  nodes(index: number): Uint8Array | undefined {
    const nodes = new Uint8Array(EXPANDED_BYTES)
    try {
      const read = readSync(this.#nodesFile(), nodes, 0, EXPANDED_BYTES, index * EXPANDED_BYTES)
      // A hole reads as zeros, which is the hash of nothing.
      return read === EXPANDED_BYTES && nodes.subarray(-32).some((byte) => byte !== 0) ? nodes : undefined
    } catch {
      return undefined
    }
  }

  keepNodes(index: number, nodes: Uint8Array): void {
    writeSync(this.#nodesFile(), nodes, 0, EXPANDED_BYTES, index * EXPANDED_BYTES)
  }

  /** Everything that was written before is durable when this resolves. */
  async sync(): Promise<void> {
    const [paths, outgrown] = [this.#unsynced, this.#outgrown]
    this.#unsynced = new Set()
    this.#outgrown = []
    const folders = new Set<string>()
    for (const path of paths) {
      for (let at = dirname(path); at.length >= this.#directory.length; at = dirname(at)) folders.add(at)
      const file = await open(path, 'r')
      try {
        await file.datasync()
      } finally {
        await file.close()
      }
    }
    for (const folder of folders) await syncDirectory(folder)
    // Only now that the full ones are durable: whoever holds an older checkpoint finds either.
    for (const folder of outgrown) await rm(join(this.#directory, folder), { recursive: true, force: true })
  }

  close(): void {
    if (this.#nodes !== undefined) closeSync(this.#nodes)
    this.#nodes = undefined
  }

  #nodesFile(): number {
    return (this.#nodes ??= this.#openNodes())
  }

  #openNodes(): number {
    const path = join(this.#directory, 'nodes')
    if (!this.#isWritable) return openSync(path, 'r')
    try {
      return openSync(path, 'r+')
    } catch (error) {
      if (systemErrorCode(error) !== 'ENOENT') throw error
      return openSync(path, 'w+', 0o600)
    }
  }

  #write(name: string, content: Uint8Array): void {
    const path = join(this.#directory, name)
    const folder = dirname(path)
    if (!this.#folders.has(folder)) {
      makeFolder(folder)
      this.#folders.add(folder)
    }
    writeFileSync(path, content, { mode: 0o600 })
    this.#unsynced.add(path)
  }
}
