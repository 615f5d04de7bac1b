/**
 * Refusal: why the ledger did not do what was asked of it, for a person.
 *
 * Pure.
 */
import type { ExportFault } from './export-store.ts'
import { ledgerFaultSentence } from './fork.ts'
import type { SigningFault } from './fork.ts'
import type { ProofFault } from './proof.ts'

export function refusalSentence(fault: ProofFault | ExportFault | SigningFault): string {
  switch (fault.kind) {
    case 'no-such-entry':
      return `The ledger has ${fault.size} entries, numbered from 0; there is no entry ${fault.seq}.`
    case 'no-such-size':
      return `A ledger of ${fault.size} entries was never one of ${fault.asked}.`
    case 'export-diverged':
      return `${fault.directory} is left as it is: ${fault.reason}. Name an empty folder, or one with an earlier export.`
    case 'export-unwritable':
      return `${fault.directory} cannot be written: ${fault.reason}.`
    default:
      return ledgerFaultSentence(fault)
  }
}
