/**
 * Guard ledger: a guard and the ledger that holds its rows against what it said, on a real disk and a clock of the
 * test's.
 *
 * Does I/O.
 */
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Database } from '../src/core/database-store.ts'
import type { GuardConfig } from '../src/guard/config.ts'
import { guardProjection } from '../src/guard/guard-state.ts'
import { createGuard } from '../src/guard/guard.ts'
import type { Guard } from '../src/guard/guard.ts'
import { guardMigrations } from '../src/guard/schema-store.ts'
import { Ledger } from '../src/ledger/ledger.ts'
import { ledgerMigrations } from '../src/ledger/ledger-store.ts'
import { noteSigner } from '../src/ledger/note-key.ts'
import { manualClock } from './manual-clock.ts'
import type { ManualClock } from './manual-clock.ts'

export interface GuardLedger {
  readonly clock: ManualClock
  readonly database: Database
  readonly ledger: Ledger
  readonly guard: Guard
  readonly close: () => void
}

const ORIGIN = 'hearthbus.test/guard'
const signer = noteSigner(ORIGIN, generateKeyPairSync('ed25519').privateKey)

export async function openGuardLedger(config: GuardConfig): Promise<GuardLedger> {
  const folder = mkdtempSync(join(tmpdir(), 'hearthbus-guard-ledger-'))
  const clock = manualClock()
  const database = new Database({ path: join(folder, 'house.db'), migrations: [ledgerMigrations, guardMigrations] })
  const projections = [guardProjection]
  const lastSignedPath = join(folder, 'signed')
  const ledger = await Ledger.open({ database, signer, clock, origin: ORIGIN, lastSignedPath, projections })
  const guard = createGuard({ database, log: ledger, clock, config })
  const close = (): void => {
    database.close()
    rmSync(folder, { recursive: true })
  }
  return { clock, database, ledger, guard, close }
}
