import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LedgerFixture, ORIGIN } from '../../test/ledger-fixture.ts'
import type { SignedCheckpoint } from './checkpoint.ts'
import { Ledger } from './ledger.ts'
import { createLogSigner } from './note-key.ts'
import { continueTruncatedLogUnderNewName, formatSuccessorOrigin } from './log-succession-store.ts'

const NEXT = `${ORIGIN}/20261116T120000Z`
const { privateKey } = generateKeyPairSync('ed25519')

let fixture: LedgerFixture
/** What a witness remembers of the 310 entries of which the last ten are lost. */
let saved: SignedCheckpoint

beforeEach(async () => {
  fixture = new LedgerFixture(undefined, createLogSigner(ORIGIN, privateKey))
  await fixture.open()
  await fixture.fill(300)
  await fixture.checkpoint()
  const putBack = await fixture.backup()
  await fixture.fill(310)
  saved = await fixture.checkpoint()
  fixture.database.close()
  putBack({ lastSigned: true })
  await fixture.open()
})
afterEach(() => fixture.remove())

describe('an older copy of the ledger restored with its last-signed file', () => {
  it('is accepted until a witness shows a larger checkpoint, and then refused, also after a restart', async () => {
    expect(fixture.ledger.state()).toEqual({ kind: 'sound' })
    expect(await fixture.ledger.compareWithCheckpoint(saved)).toMatchObject({ kind: 'truncated', source: 'witness' })
    await fixture.reopen()
    expect(fixture.ledger.state()).toEqual({
      kind: 'refusing',
      fault: { kind: 'truncated', size: 300, signedSize: 310, source: 'file' },
    })
    expect((await fixture.ledger.verify()).findings).toEqual([
      { kind: 'tail-missing', where: 'file', size: 300, signed: 310 },
    ])
  })

  it('can continue under a new name, with an entry that names the point of departure', async () => {
    await fixture.ledger.compareWithCheckpoint(saved)
    const root = Buffer.from(fixture.ledger.root()).toString('hex')
    expect(await continued()).toMatchObject({ ok: true, value: { checkpoint: { origin: NEXT, size: 301 } } })
    const next = await Ledger.open({ ...options(), signer: createLogSigner(NEXT, privateKey), origin: NEXT })
    expect(next.state()).toEqual({ kind: 'sound' })
    expect(next.entry(300)?.entry).toMatchObject({
      kind: 'ledger.adopted',
      fault: 'truncated',
      successor_of: ORIGIN,
      size: 300,
      root,
      signed_size: 310,
    })
    expect((await next.verify()).findings).toEqual([])
    expect(await next.compareWithCheckpoint(saved)).toBe(undefined)
    expect(readFileSync(`${fixture.lastSignedPath}.310`, 'utf8')).toMatch(`${ORIGIN}\n310\n`)
  })

  it('can continue under a new name after the first attempt was interrupted', async () => {
    await fixture.ledger.compareWithCheckpoint(saved)
    await fixture.reopen((sql) => sql.exec('DELETE FROM ledger_checkpoint'))
    expect(fixture.ledger.state()).toMatchObject({ kind: 'refusing', fault: { kind: 'truncated' } })
    expect(await continued()).toMatchObject({ ok: true })
  })

  it('cannot continue under a new name if the log is damaged otherwise', async () => {
    await fixture.ledger.compareWithCheckpoint(saved)
    await fixture.rewrite((entries) => entries.map((entry, seq) => (seq === 10 ? { bytes: entry.bytes } : entry)))
    expect(await continued()).toEqual({
      ok: false,
      fault: { kind: 'damaged', reason: 'The body of entry 10 is gone, and no erasure accounts for it' },
    })
  })

  it('cannot continue under a new name without evidence of a larger log', async () => {
    expect(await continued()).toEqual({ ok: false, fault: { kind: 'nothing-to-adopt' } })
  })
})

describe('successor log name', () => {
  it('ends in one timestamp, which replaces an earlier one', () => {
    const noon = Date.UTC(2026, 10, 16, 12)
    expect(formatSuccessorOrigin('hearthbus.local/attic', noon)).toBe('hearthbus.local/attic/20261116T120000Z')
    expect(formatSuccessorOrigin('hearthbus.local/attic/20250101T000000Z', noon)).toBe(
      'hearthbus.local/attic/20261116T120000Z',
    )
  })
})

function options(): Parameters<typeof continueTruncatedLogUnderNewName>[0] {
  const { database, signer, lastSignedPath, clock } = fixture
  return { database, signer, lastSignedPath, clock, origin: ORIGIN }
}

function continued(): ReturnType<typeof continueTruncatedLogUnderNewName> {
  return continueTruncatedLogUnderNewName(options(), createLogSigner(NEXT, privateKey))
}
