/**
 * Bundles that somebody changed while the node was stopped, used and put back: afterwards nothing would show it, so no
 * decision may come from them while they stand. The tail is short here, so that the files are all there is.
 */
import { createHmac } from 'node:crypto'
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LedgerFixture, ORIGIN } from '../../test/ledger-fixture.ts'
import { computeEntryBundleMac, deriveEntryBundleMacKey } from './bundle-authenticator.ts'
import { readEntryTextField } from './entry.ts'
import type { Projection } from './projection.ts'

/** Who may come in; the second kind takes the right away. */
const guests: Projection<Set<string>> = {
  name: 'guests',
  initial: () => new Set<string>(),
  apply: {
    'guest.let-in': (state, entry) => void state.add(readEntryTextField(entry, 'name') ?? ''),
    'guest.turned-away': (state, entry) => void state.delete(readEntryTextField(entry, 'name') ?? ''),
  },
}

const BUNDLES = 5
let fixture: LedgerFixture

beforeEach(async () => {
  fixture = new LedgerFixture()
  fixture.segmentEntries = 256
  fixture.projections = [guests]
  await fixture.open()
  await fixture.ledger.append({ kind: 'guest.let-in', name: 'ada' })
  await fixture.ledger.append({ kind: 'guest.turned-away', name: 'ada' })
  const rest = Array.from({ length: BUNDLES * 256 }, (_, index) => fixture.ledger.append({ kind: 'test.event', index }))
  await Promise.all(rest)
  await fixture.checkpoint()
  await fixture.reopen()
  await fixture.checkpoint()
  fixture.database.close()
})
afterEach(() => fixture.remove())

const bundle = (index: number): string => join(fixture.log, `tile/entries/00${index}`)
const macs = (): string => join(fixture.log, 'bundle-macs')

function edit(path: string, from: string, to: string): void {
  const text = readFileSync(path, 'latin1')
  expect(text).toContain(from)
  writeFileSync(path, text.replace(from, to), 'latin1')
}

describe('full entry bundle', () => {
  it('is accepted when it is unchanged, with or without the file of authenticators', async () => {
    const ledger = await fixture.open()
    expect([ledger.state().kind, [...ledger.projections.state(guests)]]).toEqual(['sound', []])
    fixture.database.close()
    const before = readFileSync(macs())
    rmSync(macs())
    expect((await fixture.open()).state()).toEqual({ kind: 'sound' })
    expect(readFileSync(macs()).equals(before.subarray(0, readFileSync(macs()).length))).toBe(true)
  })

  it.each<[string, () => void]>([
    [
      'another name',
      () => edit(bundle(0), '"kind":"guest.turned-away","name":"ada"', '"kind":"guest.turned-away","name":"bob"'),
    ],
    ['another kind', () => edit(bundle(0), 'guest.turned-away', 'guest.turned-hewo')],
    ['another bundle in its place', () => copyFileSync(bundle(1), bundle(0))],
    ['no bundle in its place', () => rmSync(bundle(0))],
    ['no later bundle', () => rmSync(bundle(2))],
    ['half a bundle', () => writeFileSync(bundle(1), readFileSync(bundle(1)).subarray(0, 900))],
    [
      'another name, and no authenticators',
      () => {
        edit(bundle(0), '"kind":"guest.turned-away","name":"ada"', '"kind":"guest.turned-away","name":"bob"')
        rmSync(macs())
      },
    ],
    [
      'another name, and an authenticator made with another key',
      () => {
        edit(bundle(0), '"kind":"guest.turned-away","name":"ada"', '"kind":"guest.turned-away","name":"bob"')
        const forged = createHmac('sha256', 'a guess')
          .update(Buffer.alloc(8))
          .update(readFileSync(bundle(0)))
          .digest()
        writeFileSync(macs(), Buffer.concat([forged, readFileSync(macs()).subarray(32)]))
      },
    ],
  ])('tampered with (%s) makes the ledger refuse, and decides nothing', async (_, tamper) => {
    tamper()
    const ledger = await fixture.open()
    expect(ledger.state()).toMatchObject({ kind: 'refusing', fault: { kind: 'damaged' } })
    await expect(ledger.append({ kind: 'guest.let-in', name: 'eve' })).rejects.toThrow(/damaged/)
    expect((await ledger.verify()).findings).not.toEqual([])
  })

  it('altered while the node runs is not returned', async () => {
    fixture.projections = []
    const ledger = await fixture.open()
    const kept = readFileSync(bundle(3))
    edit(bundle(3), '"index":800', '"index":801')
    expect(ledger.entry(802)).toBeUndefined()
    writeFileSync(bundle(3), kept)
    expect((await ledger.verify()).findings).toEqual([])
  })
})

describe('authenticator of a bundle', () => {
  it('is HMAC-SHA-256 over its index and its bytes, with a key that depends on the name of the log', () => {
    const key = deriveEntryBundleMacKey(fixture.signer)
    const input = Buffer.concat([Buffer.from('0000000000000007', 'hex'), Buffer.from('bundle')])
    const expected = createHmac('sha256', key.export()).update(input).digest()
    expect(Buffer.from(computeEntryBundleMac(key, 7, Buffer.from('bundle')))).toEqual(expected)
    expect(key.export()).toEqual(Buffer.from(fixture.signer.deriveSecret(`hearthbus ledger bundles v1\n${ORIGIN}`)))
  })
})
