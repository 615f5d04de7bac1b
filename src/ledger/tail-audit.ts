/**
 * Tail audit: the segments on the disk against the entries that were read, and how far the tables followed them.
 *
 * Pure.
 */
import { areBytesEqual } from '../core/bytes.ts'
import type { LedgerFindings } from './ledger-finding.ts'
import type { VerifiableLog } from './log-verification.ts'
import { countEntriesAppliedToTables } from './tail-reader-store.ts'
import type { TailContents } from './tail-reader-store.ts'

export function auditTail(
  log: Pick<VerifiableLog, 'entry' | 'size'>,
  { damage, segments, torn }: TailContents,
  findings: LedgerFindings,
): void {
  if (damage !== undefined) return findings.add({ kind: 'unreadable', reason: damage })
  const last = segments.at(-1)?.groups.at(-1)
  const end = last === undefined ? (segments.at(-1)?.first ?? 0) : last.first + last.entries.length
  if (end < log.size) return findings.add({ kind: 'entries-missing', from: end, to: log.size - 1 })
  if (torn > 0) return
  for (const { groups } of segments)
    for (const { first, entries } of groups)
      for (const [offset, bytes] of entries.entries()) {
        const known = first + offset < log.size ? log.entry(first + offset) : undefined
        if (known !== undefined && !areBytesEqual(known.bytes, bytes))
          findings.add({ kind: 'tail-differs', seq: first + offset })
      }
}

/**
 * Every group that changed rows says so, and each segment what the groups before it had changed last. `newestRow`: the
 * size of the newest checkpoint when the tables were looked at.
 */
export function auditAppliedEntryCount(
  tail: TailContents,
  tables: { readonly size: number | undefined; readonly newestRow: number },
  findings: LedgerFindings,
): void {
  // Segments that were removed since the tables were looked at: a node beside this process goes on.
  if ((tail.segments[0]?.first ?? 0) > tables.newestRow) return
  const expected = countEntriesAppliedToTables(tail)
  if (tables.size !== undefined && tail.damage === undefined && tables.size !== expected)
    findings.add({ kind: 'tables-size-differs', size: tables.size, expected })
}
