import { cpSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { edited } from '../../test/ledger-attack.ts'
import { LedgerFixture } from '../../test/ledger-fixture.ts'
import { readFileIfPresent } from './atomic-file-store.ts'
import { verifyLedgerExport } from './export-store.ts'
import { checkMonitoredLog } from './monitor-store.ts'
import type { MonitorRoundResult } from './monitor-store.ts'

let fixture: LedgerFixture
let folder: string

beforeEach(async () => {
  fixture = await LedgerFixture.open()
  folder = mkdtempSync(join(tmpdir(), 'ledger-monitor-'))
  await fixture.fill(300)
  await fixture.checkpoint()
})
afterEach(() => {
  fixture.remove()
  rmSync(folder, { recursive: true })
})

/** Of the files of the node as they are, or of another folder. */
function round(from = fixture.log, nowMs = Date.now()): Promise<MonitorRoundResult> {
  const published = (path: string): Promise<Uint8Array | undefined> => readFileIfPresent(join(from, path))
  return checkMonitoredLog({ published, key: fixture.signer.key, folder, silenceMs: 60_000 }, nowMs)
}

describe('log monitor', () => {
  it('follows a growing log and keeps a copy that verifies', async () => {
    expect(await round()).toEqual({ kind: 'grown', from: 0, size: 300 })
    expect(await round()).toEqual({ kind: 'unchanged', size: 300 })
    await fixture.fill(700)
    await fixture.checkpoint()
    expect(await round()).toEqual({ kind: 'grown', from: 300, size: 700 })
    expect((await verifyLedgerExport(folder, fixture.signer.key)).findings).toEqual([])
  })

  it('raises an alarm on a rollback and keeps its copy', async () => {
    const older = mkdtempSync(join(tmpdir(), 'ledger-older-'))
    cpSync(fixture.log, older, { recursive: true })
    await fixture.fill(400)
    await fixture.checkpoint()
    await round()
    expect(await round(older)).toMatchObject({ kind: 'alarm', alarm: 'rollback' })
    expect(await round()).toEqual({ kind: 'unchanged', size: 400 })
    rmSync(older, { recursive: true })
  })

  it('raises an alarm on a fork of the same size and of a larger size', async () => {
    await round()
    // The node's own key signs another history: everything local of before was removed.
    rmSync(fixture.lastSignedPath)
    await fixture.rewrite((entries) => entries.map((entry) => edited(entry, 'agent-7', 'agent-8')))
    await fixture.reopen((sql) => {
      sql.exec('DELETE FROM ledger_checkpoint')
      rmSync(join(fixture.log, 'checkpoint'))
    })
    await fixture.checkpoint()
    expect(await round()).toMatchObject({ kind: 'alarm', alarm: 'fork' })
    await fixture.fill(600)
    await fixture.checkpoint()
    expect(await round()).toMatchObject({ kind: 'alarm', alarm: 'fork' })
    expect((await readFileIfPresent(join(folder, 'checkpoint')))?.toString()).not.toContain('600')
  })

  it('raises an alarm on a bundle and tile that match each other but not the signed root', async () => {
    await fixture.fill(600)
    await fixture.checkpoint()
    const shown = mkdtempSync(join(tmpdir(), 'ledger-shown-'))
    cpSync(fixture.log, shown, { recursive: true })
    // The whole first 256 entries shown a second time, under the tile above that the log has signed (C2SP tlog-tiles).
    for (const level of ['entries', '0']) cpSync(join(shown, 'tile', level, '000'), join(shown, 'tile', level, '001'))
    expect(await round(shown)).toMatchObject({ kind: 'alarm', alarm: 'fork' })
    expect(await round()).toMatchObject({ kind: 'grown', from: 0, size: 600 })
    rmSync(shown, { recursive: true })
  })

  it('raises an alarm of silence when the log is unreachable for longer than allowed', async () => {
    await round()
    const published = (): Promise<undefined> => Promise.reject(new Error('unreachable'))
    const log = { published, key: fixture.signer.key, folder, silenceMs: 60_000 }
    await expect(checkMonitoredLog(log, Date.now())).rejects.toThrow('unreachable')
    utimesSync(join(folder, 'checkpoint'), 0, 0)
    expect(await checkMonitoredLog(log, Date.now())).toMatchObject({ kind: 'alarm', alarm: 'silence' })
  })

  it('raises an alarm on a tile of the wrong length', async () => {
    const shown = mkdtempSync(join(tmpdir(), 'ledger-shown-'))
    cpSync(fixture.log, shown, { recursive: true })
    for (const length of [31, 8_191, 100_000]) {
      writeFileSync(join(shown, 'tile/0/000'), Buffer.alloc(length, 7))
      expect(await round(shown)).toMatchObject({ kind: 'alarm', alarm: 'fork' })
    }
    rmSync(shown, { recursive: true })
  })

  it('raises an alarm on a missing tile, on a changed entry and on silence', async () => {
    await round()
    await fixture.fill(600)
    await fixture.checkpoint()
    const shown = mkdtempSync(join(tmpdir(), 'ledger-shown-'))
    cpSync(fixture.log, shown, { recursive: true })
    cpSync(join(shown, 'tile/entries/000'), join(shown, 'tile/entries/001'))
    expect(await round(shown)).toMatchObject({ kind: 'alarm', alarm: 'fork' })
    rmSync(join(shown, 'tile/0/001'))
    expect(await round(shown)).toMatchObject({ kind: 'alarm', alarm: 'incomplete' })
    expect(await round()).toMatchObject({ kind: 'grown', size: 600 })
    utimesSync(join(folder, 'checkpoint'), 0, 0)
    expect(await round()).toMatchObject({ kind: 'alarm', alarm: 'silence' })
    rmSync(shown, { recursive: true })
  })
})
