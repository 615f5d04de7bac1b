import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LedgerFixture } from '../../test/ledger-fixture.ts'
import { readEntryNumberField, readEntryTextField } from './entry.ts'
import { UnlawfulEntryError, UndoableStateMap } from './projection.ts'
import type { Projection } from './projection.ts'

/** Accounts that may not be overdrawn. */
const accounts: Projection<UndoableStateMap<number>> = {
  name: 'accounts',
  initial: (journal) => new UndoableStateMap<number>(journal),
  apply: {
    'account.moved': (state, entry) => {
      const [name, by] = [readEntryTextField(entry, 'name') ?? '', readEntryNumberField(entry, 'by') ?? 0]
      const sum = (state.get(name) ?? 0) + by
      if (sum < 0) return `${name} has only ${state.get(name) ?? 0}`
      state.set(name, sum)
      return undefined
    },
  },
  check: { 'account.noted': () => 'nobody may note anything' },
}

let fixture: LedgerFixture
beforeEach(async () => {
  fixture = await LedgerFixture.open()
})
afterEach(() => fixture.remove())

const moved = (name: string, by: number) => ({ kind: 'account.moved', name, by })

describe('projection', () => {
  it('follows the log, and has the same state after a restart', async () => {
    const state = fixture.ledger.projections.state(accounts)
    await fixture.ledger.append(moved('ada', 5))
    await fixture.ledger.append(moved('bob', 2))
    await fixture.ledger.append(moved('ada', -3))
    const ledger = await fixture.reopen()
    expect([...ledger.projections.state(accounts).entries()]).toEqual([...state.entries()])
    expect(state.get('ada')).toBe(2)
  })

  it('refuses an entry that violates its rules, together with the whole transaction', async () => {
    const state = fixture.ledger.projections.state(accounts)
    await fixture.ledger.append(moved('ada', 1))
    const work = fixture.database.commit(() => {
      fixture.ledger.appendIn(moved('bob', 7))
      fixture.ledger.appendIn(moved('ada', -2))
    })
    await expect(work).rejects.toThrow(UnlawfulEntryError)
    expect([fixture.ledger.size(), state.get('ada'), state.get('bob')]).toEqual([1, 1, undefined])
  })

  it('reverts the entries of a rolled-back transaction and keeps those of others', async () => {
    const state = fixture.ledger.projections.state(accounts)
    const works = [
      fixture.database.commit(() => fixture.ledger.appendIn(moved('ada', 1))),
      fixture.database.commit(() => {
        fixture.ledger.appendIn(moved('ada', 10))
        fixture.ledger.appendIn(moved('bob', 10))
        throw new Error('never mind')
      }),
      fixture.database.commit(() => fixture.ledger.appendIn(moved('ada', 2))),
    ]
    await Promise.allSettled(works)
    expect([...state.entries()]).toEqual([['ada', 3]])
  })

  it('ignores an unlawful entry in the log and reports it', async () => {
    // Written by a program that knew no rules.
    await fixture.ledger.append(moved('ada', 1))
    await fixture.ledger.append(moved('ada', -9))
    await fixture.ledger.append(moved('ada', 1))
    const { projections } = fixture.ledger
    expect(projections.state(accounts).get('ada')).toBe(2)
    expect(projections.unlawful).toEqual([{ seq: 1, kind: 'account.moved', why: 'ada has only 1' }])
  })

  it('finds its entries by kind even if other entries contain the same text', async () => {
    await fixture.ledger.append(moved('ada', 4))
    await fixture.ledger.append({ kind: 'call.enter', tool: 'x', args: { kind: 'account.moved' } })
    const ledger = await fixture.reopen()
    expect(ledger.projections.state(accounts).get('ada')).toBe(4)
  })
})
