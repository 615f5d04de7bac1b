/** Ledger pins of tests: vitest.config.ts has gateways keep them in a temporary folder. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { listPinPaths } from '../src/ledger/ledger-pin-store.ts'

/** As where the whole machine was put back to an older copy, or the folder had other data before. */
export function forgetPin(dataRoot: string): void {
  const folder = join(process.env['XDG_STATE_HOME'] ?? '', 'hearthbus', 'pins')
  for (const path of listPinPaths(folder, dataRoot)) rmSync(path, { force: true })
}
