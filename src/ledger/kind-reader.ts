/**
 * Kind reader: the entries of some kinds, in order, out of a log that consists mostly of others. The kind is taken from
 * the bytes, never from a column that somebody could edit, and the rest of an entry that nobody asked for is not
 * decoded.
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

/** Bytes that are no entry are left to `verify`. */
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
 * `undefined` where it takes a decoder to tell: inside a text the quotes would be escaped, but an object inside the
 * entry may have a field of that name, too.
 */
function kindIn(bytes: Uint8Array): string | undefined {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const at = buffer.indexOf(KIND)
  if (at < 0 || buffer.indexOf(KIND, at + KIND.length) >= 0) return undefined
  const start = at + KIND.length
  return buffer.toString('latin1', start, buffer.indexOf(QUOTE, start))
}
