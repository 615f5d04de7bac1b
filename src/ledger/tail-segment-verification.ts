/**
 * Tail verification: compares the segments on the disk with the entries that were read, and checks how far the tables
 * followed them.
 *
 * Pure.
 */
import { areBytesEqual } from '../core/bytes.ts'
import { decodeEntry } from './entry.ts'
import type { EntryGroup } from './entry-group.ts'
import type { LedgerFindings } from './ledger-finding.ts'
import type { VerifiableLog } from './log-verification.ts'
import { computeExpectedAppliedEntryCount, computeSegmentEnd } from './tail-reader-store.ts'
import type { TailContents } from './tail-reader-store.ts'

export function verifyTailSegments(
  log: Pick<VerifiableLog, 'entry' | 'size'>,
  { damage, segments, torn }: TailContents,
  findings: LedgerFindings,
): void {
  if (damage !== undefined) return findings.add({ kind: 'unreadable', reason: damage })
  const end = computeSegmentEnd(segments.at(-1))
  if (end < log.size) return findings.add({ kind: 'entries-missing', from: end, to: log.size - 1 })
  if (torn > 0) return
  for (const { groups } of segments)
    for (const group of groups) {
      const { first, entries } = group
      for (const [offset, bytes] of entries.entries()) {
        const known = first + offset < log.size ? log.entry(first + offset) : undefined
        if (known !== undefined && !areBytesEqual(known.bytes, bytes))
          findings.add({ kind: 'tail-differs', seq: first + offset })
      }
      verifyBodyIndexes(group, findings)
    }
}

/** Bodies can be erased, so no MAC covers them; which entry each belongs to is known all the same. */
function verifyBodyIndexes({ first, entries, bodies }: EntryGroup, findings: LedgerFindings): void {
  const seen = new Set<number>()
  for (const { index } of bodies) {
    const entry = entries[index]
    const decoded = entry && decodeEntry(entry)
    const hasBody = decoded?.ok === true && decoded.value['body_hash'] !== undefined
    if (!hasBody || seen.has(index)) findings.add({ kind: 'body-without-entry', seq: first + index })
    seen.add(index)
  }
}

/**
 * Compares how far the tables followed the log with what the tail says: each group says whether it changed rows, and
 * each segment what the last group before it was that did. `newestRow`: the size of the newest checkpoint when the
 * tables were read.
 */
export function verifyAppliedEntryCount(
  tail: TailContents,
  tables: { readonly size: number | undefined; readonly newestRow: number },
  findings: LedgerFindings,
): void {
  // Segments were removed since the tables were read: a running node works beside this process.
  if ((tail.segments[0]?.first ?? 0) > tables.newestRow) return
  const expected = computeExpectedAppliedEntryCount(tail)
  if (tables.size !== undefined && tail.damage === undefined && tables.size !== expected)
    findings.add({ kind: 'tables-size-differs', size: tables.size, expected })
}
