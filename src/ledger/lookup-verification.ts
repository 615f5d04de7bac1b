/**
 * Lookup verification: the rows of the lookup table against the entries that they were made from.
 *
 * Reads through the store it is given.
 */
import { readEndedCallSeq, readLateOutcomeCallSeq } from './call-entry.ts'
import type { LedgerEntry } from './entry.ts'
import type { LedgerFindings } from './ledger-finding.ts'
import { toLookupRow } from './lookup-store.ts'
import type { LedgerLookupRow, LookupReader } from './lookup-reader-store.ts'

const ROWS_AT_ONCE = 4_096

export type LookupsToVerify = Pick<LookupReader, 'reach' | 'rows'>

export class LookupVerification {
  readonly #lookup: LookupsToVerify
  readonly #findings: LedgerFindings
  readonly #from: number
  /** The expected rows of entries that were read, and whose rows were not compared yet. */
  readonly #rows = new Map<number, LedgerLookupRow>()
  readonly #ends = new Map<number, number>()
  readonly #lates = new Map<number, number>()

  constructor(lookup: LookupsToVerify, findings: LedgerFindings, from: number) {
    this.#lookup = lookup
    this.#findings = findings
    this.#from = from
  }

  read(entry: LedgerEntry, seq: number): void {
    if (seq >= this.#lookup.reach) return
    const row = toLookupRow(seq, entry.at, entry)
    if (row !== undefined) this.#rows.set(seq, row)
    const call = readEndedCallSeq(entry)
    if (call !== undefined) this.#ends.set(call, seq)
    const late = readLateOutcomeCallSeq(entry)
    if (late !== undefined) this.#lates.set(late, seq)
  }

  /** Notes that all entries were read; the log has `size` of them. */
  ended(size: number): void {
    const { reach } = this.#lookup
    if (Number.isFinite(reach) && reach > size) this.#findings.add({ kind: 'lookup-differs', seq: size })
    for (let from = this.#from === 0 ? undefined : this.#from; ;) {
      const rows = this.#lookup.rows(from, ROWS_AT_ONCE)
      for (const row of rows) this.#compare(row)
      const last = rows.at(-1)
      if (last === undefined) break
      from = last.seq + 1
    }
    for (const seq of this.#rows.keys()) this.#findings.add({ kind: 'lookup-differs', seq })
  }

  #compare(row: LedgerLookupRow): void {
    const expected = this.#rows.get(row.seq)
    this.#rows.delete(row.seq)
    const isSame =
      expected !== undefined &&
      expected.listed === row.listed &&
      expected.opens === row.opens &&
      expected.trace_id === row.trace_id &&
      expected.task_id === row.task_id &&
      expected.session_id === row.session_id &&
      expected.about === row.about &&
      expected.changed_at === row.changed_at &&
      (this.#ends.get(row.seq) ?? null) === row.ended &&
      (this.#lates.get(row.seq) ?? null) === row.late
    if (!isSame) this.#findings.add({ kind: 'lookup-differs', seq: row.seq })
  }
}
