/**
 * Ledger location: where the ledger of a data directory is, or why there is none to open, as a sentence.
 */
import { existsSync } from 'node:fs'
import { buildDataDirectoryPaths } from '../config/data-directory.ts'
import type { DataDirectory } from '../config/data-directory.ts'
import { fail } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { explainOutdatedLedgerFormat } from '../ledger/ledger-tables-store.ts'
import { isLogPresent } from '../ledger/log-store.ts'
import { explainInaccessibleDataRoot } from '../main/data-directory-check-store.ts'
import { explainDataDirectoryTrouble } from '../main/data-directory-trouble.ts'

export function isLedgerPresent({ database, ledger }: DataDirectory): boolean {
  return existsSync(database) && isLogPresent(ledger)
}

export function explainMissingLedger(dataRoot: string): string {
  return (
    explainInaccessibleDataRoot(dataRoot) ??
    explainOutdatedLedgerFormat(buildDataDirectoryPaths(dataRoot).database) ??
    `There is no ledger in ${dataRoot}.`
  )
}

/** Turns errors into sentences: these commands exist to report files that cannot be opened. */
export async function reportTrouble<Value>(
  dataRoot: string,
  work: () => Promise<Result<Value, string>>,
): Promise<Result<Value, string>> {
  try {
    return await work()
  } catch (error) {
    const sentence = explainDataDirectoryTrouble(error, dataRoot)
    if (sentence === undefined) throw error
    return fail(sentence)
  }
}
