/** Ledger attack: what somebody who can write to the log's files can do to cover their traces. */
import type { KeyObject } from 'node:crypto'
import { closeSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { EntryToAppend } from '../src/ledger/entry-group.ts'
import { LogStore } from '../src/ledger/log-store.ts'
import { StoredTree } from '../src/ledger/stored-tree.ts'
import { readTailSegments } from '../src/ledger/tail-reader-store.ts'

/** Entries with their bodies, as the files have them. */
export function storedEntries(directory: string): EntryToAppend[] {
  const log = new LogStore({ directory, key: undefined, readOnly: true })
  const entries = log.entries(0, log.size).map(({ seq, bytes }) => ({
    bytes: Uint8Array.from(bytes),
    body: log.body(seq) && structuredClone(log.body(seq)),
  }))
  log.close()
  return entries
}

/**
 * Puts other entries in their place and makes every tile anew. With the node's own `key` all groups are authentic, too:
 * what is found then is found by signatures.
 */
export async function rewriteLog(
  directory: string,
  key: KeyObject,
  change: (entries: EntryToAppend[]) => readonly EntryToAppend[],
): Promise<void> {
  const entries = change(storedEntries(directory))
  for (const name of ['tile', 'tail', 'bodies', 'nodes'])
    rmSync(join(directory, name), { recursive: true, force: true })
  const log = new LogStore({ directory, key })
  const tree = new StoredTree(log)
  for (let at = 0; at < entries.length; at += 100) {
    log.workBegins()
    for (const entry of entries.slice(at, at + 100)) log.append(entry)
    log.writeGroup(false)
    tree.append(log.groupEnds(true))
  }
  await log.writeBundles()
  await tree.writeTiles(log.size)
  log.close()
}

/** The entry with one text in the place of another. */
export function edited(entry: EntryToAppend, text: string, other: string): EntryToAppend {
  return { ...entry, bytes: Buffer.from(Buffer.from(entry.bytes).toString().replaceAll(text, other)) }
}

/** Other words of the same length, wherever they stand in the tail, while the node runs. */
export function editTail(directory: string, text: string, other: string): void {
  if (text.length !== other.length) throw new RangeError('nothing may move')
  for (const { path } of readTailSegments(join(directory, 'tail'), undefined).segments) {
    const bytes = readFileSync(path)
    for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) bytes.write(other, at)
    writeFileSync(path, bytes)
  }
}

/** All bodies of the tail gone, with nothing that says so. */
export function zeroBodies(directory: string): void {
  for (const { path, bytes, groups } of readTailSegments(join(directory, 'tail'), undefined).segments) {
    for (const { bodies } of groups)
      for (const { offset, length } of bodies) bytes.fill(0, offset, offset + 32 + length)
    writeFileSync(path, bytes)
  }
}

/** Where the tail stores the body of an entry: salt first. */
function bodyInTail(
  directory: string,
  seq: number,
): { readonly path: string; readonly at: number; readonly bytes: number } {
  for (const { path, groups } of readTailSegments(join(directory, 'tail'), undefined, Infinity).segments)
    for (const { first, bodies } of groups)
      for (const { index, offset, length } of bodies)
        if (first + index === seq) return { path, at: offset, bytes: 32 + length }
  throw new RangeError(`the tail has no body of entry ${seq}`)
}

/** The salt and the body of an entry as they are stored, past the node. */
export function readStoredBody(directory: string, seq: number): Buffer {
  const { path, at, bytes } = bodyInTail(directory, seq)
  return readFileSync(path).subarray(at, at + bytes)
}

/** Other bytes in their place, which a running node reads with its own descriptor; without any: zeros. */
export function writeStoredBody(directory: string, seq: number, content?: Uint8Array): void {
  const { path, at, bytes } = bodyInTail(directory, seq)
  if (content !== undefined && content.length !== bytes) throw new RangeError('nothing may move')
  const file = openSync(path, 'r+')
  writeSync(file, content ?? new Uint8Array(bytes), 0, bytes, at)
  closeSync(file)
}
