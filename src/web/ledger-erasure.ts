/**
 * Ledger erasure: erases the bodies of several entries, one after the other, up to the first that cannot be erased.
 */
import type { ErasureStatement } from '../ledger/erasure.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { formatLedgerOperationFault } from '../ledger/ledger-operation-fault.ts'
import type { ErasureResultView } from './api-requests.ts'

export async function eraseLedgerEntryBodies(
  ledger: Pick<Ledger, 'eraseBody'>,
  entries: readonly number[],
  note: Required<ErasureStatement>,
): Promise<ErasureResultView> {
  const erased: ErasureResultView['erased'][number][] = []
  const [also, stays, tables, altered] = [new Set<number>(), new Set<number>(), new Set<string>(), new Set<number>()]
  let refused: string | null = null
  for (const entry of new Set(entries)) {
    const done = await ledger.eraseBody(entry, note)
    if (!done.ok) {
      refused = formatLedgerOperationFault(done.fault)
      break
    }
    erased.push({ entry, recorded: done.value.seq, blanked: done.value.blanked })
    for (const other of done.value.also) also.add(other)
    for (const other of done.value.stays) stays.add(other)
    for (const table of done.value.tables) tables.add(table)
    for (const other of done.value.altered) altered.add(other)
  }
  // If the reason of an erasure repeats the erased text, each entry that records the erasure contains it, too.
  if (erased.some(({ recorded }) => stays.has(recorded))) for (const { recorded } of erased) stays.add(recorded)
  // Texts that were still elsewhere after the first erasure may be gone after the second.
  for (const { entry } of erased) also.delete(entry)
  const inOrder = (seqs: ReadonlySet<number>): number[] => [...seqs].toSorted((a, b) => a - b)
  const named = { also: inOrder(also), stays: inOrder(stays), altered: inOrder(altered) }
  return { erased, ...named, tables: [...tables].toSorted(), refused }
}
