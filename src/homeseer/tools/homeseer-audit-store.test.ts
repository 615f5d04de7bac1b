/** The audit of a house that has been called more often than one question may look at. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LedgerFixture } from '../../../test/ledger-fixture.ts'
import type { HomeseerAuditReader } from './homeseer-audit.ts'
import { createHomeseerAuditReader } from './homeseer-audit-store.ts'

const OTHERS = 20_400
const entered = { kind: 'call.enter', principal: 'claude', effect: 'writes' }

let fixture: LedgerFixture
let bodiesRead = 0
let audit: HomeseerAuditReader
beforeAll(async () => {
  fixture = await LedgerFixture.open()
  const { ledger, database } = fixture
  await ledger.append({ ...entered, tool: 'hs4.devices.set', trace_id: 'long-ago' }, { args: { ref: 7 } })
  await ledger.append({ kind: 'call.exit', call: 0, outcome: 'ok' })
  for (let made = 0; made < OTHERS; made += 400)
    await database.commit(() => {
      for (let each = 0; each < 400; each++)
        ledger.appendIn({ ...entered, tool: 'ebus.v1.bus.activity', trace_id: 'since' })
    })
  const body: typeof ledger.body = (seq) => {
    bodiesRead += 1
    return ledger.body(seq)
  }
  audit = createHomeseerAuditReader({ listed: (...query) => ledger.listed(...query), body })
})
afterAll(() => fixture.remove())

const anybody = (): boolean => true

describe('audit query over many calls', () => {
  it('finds a call by its trace id, however many came after it', async () => {
    bodiesRead = 0
    const { entries, next } = await audit.query({ traceId: 'long-ago', limit: 100 }, anybody)
    expect(entries).toMatchObject([{ id: 'ledger:0', result: 'success', target: { ref: 7 } }])
    expect(next).toBeUndefined()
    expect(bodiesRead).toBe(2)
  })

  it('returns where it stopped searching, and continues from there', async () => {
    const first = await audit.query({ tool: 'hs4.devices.set', limit: 100 }, anybody)
    expect(first).toEqual({ entries: [], next: 2 + OTHERS - 20_000 })
    const second = await audit.query({ tool: 'hs4.devices.set', limit: 100, before: first.next ?? 0 }, anybody)
    expect(second).toMatchObject({ entries: [{ id: 'ledger:0' }], next: undefined })
  })

  it('stops at the limit, and returns the position of the last entry', async () => {
    await fixture.ledger.append({ ...entered, tool: 'hs4.devices.get', trace_id: 'newest' })
    const newest = 2 + OTHERS
    expect(await audit.query({ limit: 1 }, anybody)).toMatchObject({
      entries: [{ id: `ledger:${newest}` }],
      next: newest,
    })
  })

  it('yields to other work after every 500 calls that it reads', async () => {
    let turns = 0
    let isDone = false
    const others = (): void => {
      turns += 1
      if (!isDone) setImmediate(others)
    }
    others()
    await audit.query({ tool: 'hs4.devices.set', limit: 100 }, anybody)
    isDone = true
    expect(turns).toBeGreaterThan(20)
  })
})
