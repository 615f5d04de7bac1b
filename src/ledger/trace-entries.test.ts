import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LedgerFixture } from '../../test/ledger-fixture.ts'
import type { Ledger } from './ledger.ts'

/** What the bits of 4bf92f3577b34da6a3ce929d0e0e4736 are as a ULID: a time long past any clock. */
const CHOSEN = '2BZ4QKAXXK9PKA7KMJKM70WHSP'

let fixture: LedgerFixture
let ledger: Ledger

beforeEach(async () => {
  fixture = await LedgerFixture.open()
  ledger = fixture.ledger
})

afterEach(() => fixture.remove())

function seqsOf(traceId: string): readonly number[] {
  return ledger.entriesOfTrace(traceId).map(({ seq }) => seq)
}

describe('entries of a trace id', () => {
  it('include those with the id and the ends of their calls, for any form of the id', async () => {
    await ledger.append({ kind: 'call.enter', tool: 'a', trace_id: CHOSEN })
    await ledger.append({ kind: 'call.enter', tool: 'b', trace_id: 'another' })
    await ledger.append({ kind: 'approval.used', trace_id: CHOSEN })
    fixture.clock.advance(86_400_000)
    await ledger.append({ kind: 'call.exit', call: 1, outcome: 'ok' })
    await ledger.append({ kind: 'call.exit', call: 0, outcome: 'ok' })
    await ledger.append({ kind: 'thought', call: 0 })
    ledger = await fixture.reopen()
    expect([seqsOf(CHOSEN), seqsOf('another'), seqsOf('nobody’s')]).toEqual([[0, 2, 4], [1, 3], []])
  })

  it('are limited to the newest 200', async () => {
    for (let count = 0; count < 300; count++) await ledger.append({ kind: 'test', trace_id: CHOSEN })
    const seqs = seqsOf(CHOSEN)
    expect([seqs.length, seqs[0], seqs.at(-1)]).toEqual([200, 100, 299])
  })

  it('exclude entries that were only assigned to it in the lookup cache', async () => {
    await ledger.append({ kind: 'call.enter', tool: 'a', trace_id: CHOSEN })
    await ledger.append({ kind: 'call.exit', call: 0, outcome: 'ok' })
    await ledger.append({ kind: 'call.enter', tool: 'b', trace_id: 'another' })
    await ledger.append({ kind: 'call.exit', call: 2, outcome: 'ok' })
    ledger = await fixture.reopen(() => {
      const lookup = new DatabaseSync(join(fixture.directory, 'ledger', 'lookup.db'))
      lookup.exec(`UPDATE lookup SET trace_id = '${CHOSEN}' WHERE seq = 2; UPDATE lookup SET ended = 3 WHERE seq = 0`)
      lookup.close()
    })
    // Entry 1 is found by nothing but the column that was changed.
    expect(seqsOf(CHOSEN)).toEqual([0])
  })

  it('are found again after the lookup cache was deleted', async () => {
    await ledger.append({ kind: 'call.enter', tool: 'a', trace_id: CHOSEN })
    await ledger.append({ kind: 'call.exit', call: 0, outcome: 'ok' })
    await ledger.append({ kind: 'call.enter', tool: 'b', trace_id: CHOSEN })
    ledger = await fixture.reopen(() => rmSync(join(fixture.directory, 'ledger', 'lookup.db')))
    expect(seqsOf(CHOSEN)).toEqual([0, 1, 2])
    expect(await ledger.abortOpenCalls()).toEqual([2])
    expect((await ledger.verify()).findings).toEqual([])
  })
})
