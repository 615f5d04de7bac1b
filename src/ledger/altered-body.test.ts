/**
 * Bodies that another program changes in the files while the node runs: what the node gives out, erases and records
 * meanwhile, and after the bodies were put back.
 */
import { cpSync, lstatSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LedgerFixture } from '../../test/ledger-fixture.ts'
import { readStoredBody, writeStoredBody } from '../../test/ledger-attack.ts'
import { collectAuditPacket } from './audit-packet-collection.ts'
import { formatLedgerFinding } from './ledger-finding.ts'
import type { Ledger } from './ledger.ts'
import { verifyLedgerExport } from './export-store.ts'

let fixture: LedgerFixture
let ledger: Ledger

beforeEach(async () => {
  fixture = await LedgerFixture.open()
  ledger = fixture.ledger
  await ledger.append({ kind: 'thought' }, { text: 'the alpaca coughs' })
  await ledger.append({ kind: 'thought' }, { text: 'the baboon coughs' })
  await ledger.append({ kind: 'thought' }, { text: 'the alpaca sneezes' })
  await ledger.checkpoint()
})
afterEach(() => fixture.remove())

/** Returns how to put them back. */
function swapFirstTwo(): () => void {
  const [first, second] = [readStoredBody(fixture.log, 0), readStoredBody(fixture.log, 1)]
  writeStoredBody(fixture.log, 0, second)
  writeStoredBody(fixture.log, 1, first)
  return () => {
    writeStoredBody(fixture.log, 0, first)
    writeStoredBody(fixture.log, 1, second)
  }
}

async function sentences(): Promise<readonly string[]> {
  return (await ledger.verify()).findings.map(formatLedgerFinding)
}

describe('a body that was swapped with that of another entry', () => {
  it('is in no proof, opening or export', async () => {
    swapFirstTwo()
    expect(await ledger.proofText(0, { withBody: true })).toEqual({
      ok: false,
      fault: { kind: 'damaged', reason: 'the stored body of entry 0 is not the one that the entry commits to' },
    })
    expect(ledger.opening(0)).toBeUndefined()
    const folder = mkdtempSync(join(tmpdir(), 'ledger-export-'))
    expect(await ledger.exportTo(folder, { withBodies: true })).toMatchObject({ ok: true })
    const { findings } = await verifyLedgerExport(folder, ledger.verifierKey)
    rmSync(folder, { recursive: true })
    expect(findings).toEqual([
      { kind: 'body-missing', seq: 0 },
      { kind: 'body-missing', seq: 1 },
    ])
  })

  it('is in no audit packet, which is refused until it is back', async () => {
    const putBack = swapFirstTwo()
    const options = { mayRead: () => true, mayOpen: () => true }
    expect(await collectAuditPacket(ledger, { since: '' }, options)).toMatchObject({
      ok: false,
      fault: { kind: 'damaged', reason: 'the stored body of entry 0 is not the one that the entry commits to' },
    })
    putBack()
    expect(await collectAuditPacket(ledger, { since: '' }, options)).toMatchObject({ ok: true })
  })

  it('is erased with a statement that it was not the committed one, here and in the log', async () => {
    const putBack = swapFirstTwo()
    expect(await ledger.eraseBody(0, { by: 'owner' })).toMatchObject({ ok: true, value: { altered: [0, 1] } })
    expect(ledger.entry(3)?.entry).toMatchObject({ kind: 'body.erased', entry: 0, by: 'owner', altered: true })
    putBack()
    expect(ledger.body(0)).toEqual({ kind: 'erased' })
    expect(ledger.opening(0)).toBeUndefined()
  })
})

describe('an erased body that was put back', () => {
  it('is not shown or exported, and is wiped by another erasure or a start', async () => {
    const body = readStoredBody(fixture.log, 0)
    expect(await ledger.eraseBody(0)).toMatchObject({ ok: true, value: { altered: [] } })
    writeStoredBody(fixture.log, 0, body)
    expect(ledger.body(0)).toEqual({ kind: 'erased' })
    expect(ledger.opening(0)).toBeUndefined()
    expect(await sentences()).toEqual([expect.stringContaining('entry 0')])
    expect(await ledger.eraseBody(0)).toEqual({ ok: false, fault: { kind: 'nothing-to-erase', seq: 0, erased: true } })
    expect(await sentences()).toEqual([])
    writeStoredBody(fixture.log, 0, body)
    ledger = await fixture.reopen()
    expect(ledger.body(0)).toEqual({ kind: 'erased' })
    expect(await sentences()).toEqual([])
  })
})

describe('a file of bodies that was moved away behind a link', () => {
  beforeEach(async () => {
    fixture.segmentEntries = 100
    ledger = await fixture.reopen()
    while (ledger.size() < 600) await ledger.append({ kind: 'thought' }, { text: `number ${ledger.size()}` })
    await ledger.checkpoint()
    renameSync(join(fixture.log, 'bodies/000'), join(fixture.directory, 'moved'))
    symlinkSync(join(fixture.directory, 'moved'), join(fixture.log, 'bodies/000'))
  })

  it('is replaced by a file without the erased body, and the file behind the link is left alone', async () => {
    const moved = readFileSync(join(fixture.directory, 'moved'))
    expect(await ledger.eraseBody(0)).toMatchObject({ ok: true })
    expect(lstatSync(join(fixture.log, 'bodies/000')).isFile()).toBe(true)
    expect(readFileSync(join(fixture.log, 'bodies/000'), 'latin1')).not.toContain('alpaca coughs')
    expect(readFileSync(join(fixture.directory, 'moved')).equals(moved)).toBe(true)
    expect(await sentences()).toEqual([])
  })

  it('does not keep the node from starting when a body in it was erased before', async () => {
    rmSync(join(fixture.log, 'bodies/000'))
    renameSync(join(fixture.directory, 'moved'), join(fixture.log, 'bodies/000'))
    cpSync(join(fixture.log, 'bodies/000'), join(fixture.directory, 'copy'))
    expect(await ledger.eraseBody(0)).toMatchObject({ ok: true })
    rmSync(join(fixture.log, 'bodies/000'))
    symlinkSync(join(fixture.directory, 'copy'), join(fixture.log, 'bodies/000'))
    ledger = await fixture.reopen()
    expect(ledger.state()).toEqual({ kind: 'sound' })
    expect(await sentences()).toEqual([])
  })
})

describe('a body that was removed and not erased', () => {
  it('is erased on record when a person asks for it, so that it is not shown when it is put back', async () => {
    const body = readStoredBody(fixture.log, 0)
    writeStoredBody(fixture.log, 0)
    expect(await ledger.eraseBody(0)).toMatchObject({ ok: true, value: { seq: 3, altered: [0] } })
    writeStoredBody(fixture.log, 0, body)
    expect(ledger.body(0)).toEqual({ kind: 'erased' })
  })

  it('is named by the search for the same words elsewhere', async () => {
    writeStoredBody(fixture.log, 2)
    expect(await ledger.eraseBody(0)).toMatchObject({ ok: true, value: { also: [], altered: [2] } })
  })
})
