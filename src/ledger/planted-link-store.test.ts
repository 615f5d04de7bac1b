/** Somebody who can write into the log's folder puts links to a file outside in the place of files to come. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createSecretKey } from 'node:crypto'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FixedSizeRecordFileStore } from './record-file-store.ts'
import { readTailSegments } from './tail-reader-store.ts'
import { TailStore } from './tail-store.ts'
import { TileStore } from './tile-store.ts'
import { formatBodiesPath, formatTilePath } from './tile.ts'

let folder: string
let outside: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ledger-link-'))
  outside = join(folder, 'outside')
  writeFileSync(outside, 'precious')
  mkdirSync(join(folder, 'log'))
})
afterEach(() => {
  rmSync(folder, { recursive: true })
})

function plant(name: string): string {
  const path = join(folder, 'log', name)
  mkdirSync(dirname(path), { recursive: true })
  symlinkSync(outside, path)
  return path
}

describe('a symbolic link planted in the log folder', () => {
  it('is not followed when a record file is written', () => {
    const file = new FixedSizeRecordFileStore({ path: plant('nodes'), recordBytes: 4, isWritable: true })
    expect(() => file.write(0, new Uint8Array(4))).toThrow(/ELOOP/)
    expect(readFileSync(outside, 'utf8')).toBe('precious')
  })

  it('is not followed when bodies and tiles are written', () => {
    const tiles = new TileStore(join(folder, 'log'), true)
    plant(formatBodiesPath(0))
    const body = { index: 0, salt: new Uint8Array(32), body: new Uint8Array(2) }
    expect(() => tiles.writeBodies(0, [body])).toThrow(/ELOOP/)
    const name = { level: 0, index: 0, width: 1 }
    plant(formatTilePath(name))
    expect(() => tiles.writeTile(name, new Uint8Array(32))).toThrow(/ELOOP/)
    tiles.wipeBody(0, 0)
    expect(readFileSync(outside, 'utf8')).toBe('precious')
    tiles.close()
  })

  it('is replaced by a new tail segment', () => {
    const directory = join(folder, 'log', 'tail')
    mkdirSync(directory)
    const key = createSecretKey(new Uint8Array(32))
    const read = readTailSegments(directory, key)
    const planted = plant('tail/0000000000000007')
    new TailStore({ directory, key, read, begins: 7, segmentEntries: undefined }).close()
    expect(readFileSync(outside, 'utf8')).toBe('precious')
    expect(readFileSync(planted)).not.toEqual(readFileSync(outside))
  })
})
