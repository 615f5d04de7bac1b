/** Ledger operation fault: why the ledger did not do what was requested, for a person. */
import type { LedgerExportFault } from './export-store.ts'
import { formatLedgerFault } from './ledger-state.ts'
import type { SigningFault } from './ledger-state.ts'
import type { ProofCreationFault } from './proof.ts'

export type EraseFault =
  | { readonly kind: 'no-such-entry'; readonly seq: number; readonly size: number }
  /** The entry never had a body, or it was erased before. */
  | { readonly kind: 'nothing-to-erase'; readonly seq: number; readonly erased: boolean }
  /** The body is still needed. */
  | { readonly kind: 'words-in-use'; readonly reason: string }

export function formatLedgerOperationFault(
  fault: ProofCreationFault | LedgerExportFault | SigningFault | EraseFault,
): string {
  switch (fault.kind) {
    case 'nothing-to-erase':
      return fault.erased
        ? `The words of entry ${fault.seq} were erased before.`
        : `Entry ${fault.seq} has no words beside it that could be erased.`
    case 'words-in-use':
      return fault.reason
    case 'no-such-entry':
      return `The ledger has ${fault.size} entries, numbered from 0; there is no entry ${fault.seq}.`
    case 'no-such-size':
      return `A ledger of ${fault.size} entries was never one of ${fault.asked}.`
    case 'export-diverged':
      return `${fault.directory} is left as it is: ${fault.reason}. Name an empty folder, or one with an earlier export.`
    case 'export-unwritable':
      return `${fault.directory} cannot be written: ${fault.reason}.`
    default:
      return formatLedgerFault(fault)
  }
}
