/**
 * Entries by kind: reads the entries of some kinds, in order, from a log that consists mostly of others. The kind is
 * taken from the bytes, never from a column that somebody could edit, and entries of other kinds are not decoded.
 *
 * Pure: it reads through what it is given.
 */
import { decodeEntry } from './entry.ts'
import type { LedgerEntry } from './entry.ts'

interface EntrySource {
  readonly entries: (from: number, limit: number) => readonly { readonly seq: number; readonly bytes: Uint8Array }[]
}

const PIECE = 1_024
const KIND = Buffer.from('"kind":"')
const QUOTE = 0x22

/** Bytes that are not an entry are left to `verify`. */
export function* readEntriesOfKinds(
  source: EntrySource,
  kinds: ReadonlySet<string>,
): Generator<LedgerEntry, void, void> {
  for (let from = 0; ;) {
    const rows = source.entries(from, PIECE)
    for (const { bytes } of rows) {
      const kind = kindIn(bytes)
      if (kind !== undefined && !kinds.has(kind)) continue
      const decoded = decodeEntry(bytes)
      if (decoded.ok && kinds.has(decoded.value.kind)) yield decoded.value
    }
    const last = rows.at(-1)
    if (last === undefined || rows.length < PIECE) return
    from = last.seq + 1
  }
}

/**
 * `undefined` where only a decoder can tell: quotes inside a text would be escaped, but a nested object may have a
 * field of that name as well.
 */
function kindIn(bytes: Uint8Array): string | undefined {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const at = buffer.indexOf(KIND)
  if (at < 0 || buffer.indexOf(KIND, at + KIND.length) >= 0) return undefined
  const start = at + KIND.length
  return buffer.toString('latin1', start, buffer.indexOf(QUOTE, start))
}
