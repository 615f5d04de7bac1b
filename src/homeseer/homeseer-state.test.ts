/** Spec 4: a rollback is taken once; a name is learned only from a person. */
import { describe, expect, it } from 'vitest'
import { systemClock } from '../core/clock.ts'
import { Database } from '../core/database-store.ts'
import { LOG_TABLE, tableLog } from '../../test/table-log.ts'
import type { LedgerEvent } from '../ledger/entry.ts'
import { ProjectionRuleVerification } from '../ledger/projection.ts'
import { createAdminRollbackStore, rollbackMigrations } from './admin/rollback-store.ts'
import { homeseerProjection } from './homeseer-state.ts'

const keptEvent: LedgerEvent = {
  kind: 'rollback.kept',
  rollback: 'R',
  domain: 'users',
  tool: 'hs4.admin.users.create',
  undoes: 'hs4.admin.users.delete',
  args_hash: 'h',
}
const used: LedgerEvent = { kind: 'rollback.used', rollback: 'R' }
const learned: LedgerEvent = { kind: 'alias.learned', of: 'device', id: 120, by: 'ann' }

function unlawful(...events: readonly LedgerEvent[]): readonly string[] {
  const audit = new ProjectionRuleVerification([homeseerProjection])
  for (const [seq, event] of events.entries())
    audit.read({ v: 1, seq, at: '2026-01-01T00:00:00.000Z', ...event } as never)
  return audit.unlawful.map(({ why }) => why)
}

describe('events recorded by the HomeSeer family', () => {
  it('allow a rollback to be used once, and again only after it was given back', () => {
    expect(unlawful(keptEvent, used, { kind: 'rollback.given-back', rollback: 'R' }, used)).toEqual([])
    expect(unlawful(keptEvent, used, used)).toEqual(['no such rollback was available'])
    expect(unlawful(used)).toEqual(['no such rollback was available'])
    expect(unlawful(keptEvent, { kind: 'rollback.given-back', rollback: 'R' })).toEqual(['no such rollback was used'])
    expect(unlawful(keptEvent, keptEvent)).toEqual(['rollback R was kept before'])
  })

  it('allow aliases to be learned, replaced and forgotten only if they exist', () => {
    expect(unlawful(learned, { ...learned, replaces: 0 }, { kind: 'alias.forgotten', learned: 1 })).toEqual([])
    expect(unlawful({ ...learned, by: undefined })).toEqual(['a field that such an entry needs is missing or wrong'])
    expect(unlawful({ kind: 'alias.forgotten', learned: 1 })).toEqual(['there was no such name'])
  })
})

describe('stored arguments of an admin rollback', () => {
  it('are ignored if they differ from what was recorded', async () => {
    const database = new Database({ path: ':memory:', migrations: [LOG_TABLE, rollbackMigrations] })
    const rollbacks = createAdminRollbackStore(database, tableLog(database, systemClock))
    const newRollback = { domain: 'users', tool: 'x', undoes: 'y', args: { user: 'anna' } } as const
    const id = await rollbacks.store(newRollback, 1)
    expect(rollbacks.get(id)).toMatchObject({ state: 'available', args: { user: 'anna' } })
    database.sql.exec(`UPDATE homeseer_rollback SET args = '{"user":"mallory"}'`)
    expect(rollbacks.get(id)).toBeUndefined()
    database.close()
  })
})
