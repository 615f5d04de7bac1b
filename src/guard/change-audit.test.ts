/** Prepared changes that somebody wrote who is not the guard: found when the ledger is verified. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { GUARD_CONFIG } from '../../test/guard-house.ts'
import { openGuardLedger } from '../../test/guard-ledger.ts'
import type { GuardLedger } from '../../test/guard-ledger.ts'
import { findingSentence } from '../ledger/finding.ts'

let clock: GuardLedger['clock']
let database: GuardLedger['database']
let ledger: GuardLedger['ledger']
let guard: GuardLedger['guard']
let close: GuardLedger['close']
beforeEach(async () => {
  ;({ clock, database, ledger, guard, close } = await openGuardLedger(GUARD_CONFIG))
})
afterEach(() => close())

async function prepare(principal = 'ada'): Promise<string> {
  const request = { principal, tool: 'test.dim', args: { ref: 141 }, summary: 'Dim the hall', ttlMs: 60_000 }
  const prepared = await guard.services.changes.prepare(request)
  if (!prepared.ok) throw new Error(prepared.fault.message)
  return prepared.value.token
}

async function take(token: string): Promise<string> {
  const taken = await guard.services.changes.take(token, 'ada')
  if (!taken.ok) throw new Error(taken.fault.message)
  return token
}

async function problems(): Promise<readonly string[]> {
  return (await ledger.verify()).findings.map(findingSentence)
}

const tamper = (change: string): void => database.sql.exec(change)

describe('prepared changes, held against the ledger', () => {
  it('are in order whatever became of them', async () => {
    await prepare()
    await prepare('grace')
    for (const end of ['committed', 'failed', 'unknown'] as const)
      await guard.services.changes.finish(await take(await prepare()), end)
    await guard.services.changes.release(await take(await prepare()))
    const again = await take(await prepare())
    await guard.services.changes.release(again)
    await guard.services.changes.finish(await take(again), 'committed')
    // Being committed: the ledger says so when it has ended.
    await take(await prepare())
    expect(await problems()).toEqual([])
    await guard.recover()
    expect(await problems()).toEqual([])
    clock.advance(90_000_000)
    await guard.sweep()
    expect(database.sql.prepare('SELECT count(*) AS rows FROM guard_change').get()).toEqual({ rows: 0 })
    expect(await problems()).toEqual([])
  })

  it('are found out when one that was committed can be committed again', async () => {
    const token = await take(await prepare())
    await guard.services.changes.finish(token, 'committed')
    tamper(`UPDATE guard_change SET state = 'prepared', finished_at = NULL, finished_seq = NULL`)
    expect(guard.services.changes.peek(token, 'ada')).toMatchObject({ ok: true })
    expect(await problems()).toEqual([
      expect.stringMatching(/^The change [0-9a-f]{32} is not what the ledger says \(entry 1\): state, finished_seq\.$/),
    ])
  })

  it.each([
    ['state', `'committed'`],
    ['principal', `'eve'`],
    ['tool', `'test.unlock'`],
    ['expires_at', 'expires_at + 1'],
    ['prepared_seq', '7'],
    ['finished_seq', '7'],
    ['summary', `'Dim the bathroom'`],
  ])('are found out when %s was edited', async (column, value) => {
    await prepare()
    tamper(`UPDATE guard_change SET ${column} = ${value}`)
    expect(await problems()).toEqual([
      expect.stringMatching(`^The change [0-9a-f]{32} is not what the ledger says \\(entry 0\\): ${column}\\.$`),
    ])
  })

  it('are found out when one was added, and not missed when one is gone: nobody can commit that', async () => {
    await prepare()
    tamper(`UPDATE guard_change SET hash = x'${'ab'.repeat(32)}'`)
    expect(await problems()).toEqual([`The change ${'ab'.repeat(16)} was added; the ledger does not have it.`])
  })

  it('cannot be compared where the words were erased, and that is not wrong', async () => {
    await guard.services.changes.finish(await take(await prepare()), 'committed')
    expect(await ledger.eraseBody(0)).toMatchObject({ ok: true, value: { blanked: [{ what: 'change' }] } })
    expect(await ledger.verify()).toMatchObject({ findings: [], uncompared: [] })
    tamper(`UPDATE guard_change SET summary = 'Dim the bathroom'`)
    expect(await ledger.verify()).toMatchObject({
      findings: [],
      uncompared: [expect.stringMatching(/^The change .* cannot be compared \(summary\): the words of entry 0 were/)],
    })
  })
})
