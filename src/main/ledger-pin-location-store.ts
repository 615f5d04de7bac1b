/** Ledger pin location: which files outside of a data directory are its pin, and the lock beside that. */
import { homedir } from 'node:os'
import { resolveLedgerPinFolder } from '../config/data-directory.ts'
import type { Config } from '../config/schema.ts'
import { CosignedTreePin } from '../ledger/cosigned-tree-pin-store.ts'
import { LedgerPinFile, listPinPaths } from '../ledger/ledger-pin-store.ts'

export function openLedgerPin(config: Config, dataRoot: string): Promise<LedgerPinFile> {
  return LedgerPinFile.open(locatePins(config.ledger.pins, dataRoot), dataRoot)
}

/** The locks beside these files, of which one process at a time can hold each. */
export function locateOutsideLocks(config: Config, dataRoot: string): readonly string[] {
  return toLockPaths(locatePins(config.ledger.pins, dataRoot))
}

/** The trees that a witness with this directory has cosigned. Throws a sentence. */
export function openCosignedTreePin(config: Config, directory: string): Promise<CosignedTreePin> {
  const paths = locatePins(config.ledger.pins, directory).map((path) => path.replace(/json$/, 'cosigned'))
  return CosignedTreePin.open(paths, directory)
}

/** `folder`: what `ledger.pins` says. */
export function locatePins(folder: string | undefined, dataRoot: string): readonly string[] {
  return listPinPaths(resolveLedgerPinFolder(folder, process.env, findHome()), dataRoot)
}

export function toLockPaths(pinPaths: readonly string[]): readonly string[] {
  return pinPaths.map((path) => path.replace(/json$/, 'lock'))
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
