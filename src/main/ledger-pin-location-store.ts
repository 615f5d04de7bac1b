/** Ledger pin location: which files outside of a data directory are its pin. */
import { homedir } from 'node:os'
import { resolveLedgerPinFolder } from '../config/data-directory.ts'
import type { Config } from '../config/schema.ts'
import { LedgerPinFile, listPinPaths } from '../ledger/ledger-pin-store.ts'

export function openLedgerPin({ ledger }: Config, dataRoot: string): Promise<LedgerPinFile> {
  const folder = resolveLedgerPinFolder(ledger.pins, process.env, findHome())
  return LedgerPinFile.open(listPinPaths(folder, dataRoot), dataRoot)
}

/**
 * A user without a home folder, as in some containers, has no place for the file; the attempt to write it reports that.
 */
function findHome(): string {
  try {
    return homedir()
  } catch {
    return '/nonexistent'
  }
}
