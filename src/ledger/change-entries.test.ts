import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LedgerFixture } from '../../test/ledger-fixture.ts'
import type { RecordedChangeQuery } from './lookup-reader-store.ts'
import type { Ledger } from './ledger.ts'

const ALL: RecordedChangeQuery = { since: '', before: { at: '9999', seq: 0 }, limit: 100 }

let fixture: LedgerFixture
let ledger: Ledger

beforeEach(async () => {
  fixture = await LedgerFixture.open()
  ledger = fixture.ledger
})

afterEach(() => fixture.remove())

function seqsOf(query: Partial<RecordedChangeQuery> = {}): readonly number[] {
  return ledger.changes({ ...ALL, ...query }).map(({ seq }) => seq)
}

async function enter(effect?: string): Promise<void> {
  await ledger.append({ kind: 'call.enter', tool: 'a', effect })
}

describe('changes in the ledger', () => {
  it('are calls with a changing effect, with their end, and administrative events', async () => {
    for (const effect of ['reads', 'records', 'writes', 'sensitive', 'admin', undefined]) await enter(effect)
    await ledger.append({ kind: 'token.created', name: 'tablet' })
    await ledger.append({ kind: 'approval.requested', effect: 'sensitive' })
    await ledger.append({ kind: 'call.exit', call: 2, outcome: 'ok' })
    expect(seqsOf()).toEqual([6, 4, 3, 2])
    expect(ledger.changes(ALL).at(-1)).toMatchObject({ entry: { effect: 'writes' }, end: { outcome: 'ok' } })
    expect(ledger.changes(ALL)[1]).not.toHaveProperty('end')
  })

  it('are selected by time even if the clock was wrong for a while', async () => {
    const { clock } = fixture
    const beganMs = clock.now()
    const at = (ms: number): string => new Date(beganMs + ms).toISOString()
    for (const ms of [1_000, 2_000, -86_400_000, 3_000, 3_000]) {
      clock.advance(beganMs + ms - clock.now())
      await enter('writes')
    }
    expect(seqsOf()).toEqual([4, 3, 1, 0, 2])
    expect(seqsOf({ since: at(2_000) })).toEqual([4, 3, 1])
    expect(seqsOf({ since: at(1_000), before: { at: at(3_000), seq: 0 } })).toEqual([1, 0])
    expect(seqsOf({ before: { at: at(3_000), seq: 4 }, limit: 2 })).toEqual([3, 1])
  })
})
