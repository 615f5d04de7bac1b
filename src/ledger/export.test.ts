import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { LedgerFixture } from '../../test/ledger-fixture.ts'
import { formatSignedCheckpoint } from './checkpoint.ts'
import { verifyLedgerExport } from './export-store.ts'
import type { LedgerExportResult } from './export-store.ts'

let fixture: LedgerFixture
let directory: string

beforeEach(async () => {
  fixture = await LedgerFixture.open()
  directory = join(fixture.directory, 'export')
})

afterEach(() => fixture.remove())

async function exported(): Promise<LedgerExportResult> {
  const result = await fixture.ledger.exportTo(directory)
  if (!result.ok) throw new Error(result.fault.kind)
  return result.value
}

function filesIn(root: string): string[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(root, name)).isFile())
    .sort()
}

const verified = () => verifyLedgerExport(directory, fixture.ledger.verifierKey)

describe('ledger export', () => {
  it('writes the files of the tlog-tiles specification', async () => {
    await fixture.fill(600)
    expect(await exported()).toEqual({ size: 600, files: 8 })
    expect(filesIn(directory)).toEqual([
      'checkpoint',
      'tile/0/000',
      'tile/0/001',
      'tile/0/002.p/88',
      'tile/1/000.p/2',
      'tile/entries/000',
      'tile/entries/001',
      'tile/entries/002.p/88',
    ])
    expect(statSync(join(directory, 'tile/0/000')).size).toBe(8_192)
    const signed = fixture.ledger.latestCheckpoint()
    expect(readFileSync(join(directory, 'checkpoint'), 'utf8')).toBe(signed && formatSignedCheckpoint(signed))
  })

  it.each([0, 1, 255, 256, 257, 600])('of %i entries can be verified without the database', async (size) => {
    await fixture.fill(size)
    await exported()
    expect(await verified()).toMatchObject({ size, findings: [], signed: { checkpoint: { size } } })
  })

  it('continues an earlier export and removes its outgrown partial tiles', async () => {
    await fixture.fill(300)
    await exported()
    const full = statSync(join(directory, 'tile/0/000')).ino
    await fixture.fill(520)
    expect(await exported()).toEqual({ size: 520, files: 6 })
    expect(statSync(join(directory, 'tile/0/000')).ino).toBe(full)
    expect(existsSync(join(directory, 'tile/0/001.p/44'))).toBe(false)
    expect(await verified()).toMatchObject({ size: 520, findings: [] })
    expect(await exported()).toMatchObject({ size: 520 })
    expect(await verified()).toMatchObject({ size: 520, findings: [] })
  })

  it('can be verified with an older checkpoint after its partial tiles were replaced by full ones', async () => {
    await fixture.fill(300)
    await exported()
    const checkpoint = readFileSync(join(directory, 'checkpoint'))
    await fixture.fill(600)
    await exported()
    writeFileSync(join(directory, 'checkpoint'), checkpoint)
    expect(existsSync(join(directory, 'tile/0/001.p'))).toBe(false)
    expect(await verified()).toMatchObject({ size: 300, findings: [] })
  })

  it('is verified without regard to a tail file that was added to it', async () => {
    await fixture.fill(300)
    await exported()
    cpSync(join(fixture.log, 'tail'), join(directory, 'tail'), { recursive: true })
    expect(await verified()).toMatchObject({ size: 300, findings: [], unchecked: expect.arrayContaining(['tail']) })
  })

  it('has nothing of a file behind a link that was planted in the place of a tile, a bundle or a file of bodies', async () => {
    const key = join(fixture.directory, 'node.key')
    writeFileSync(key, 'PRIVATE KEY'.padEnd(8_192, '.'))
    fixture.segmentEntries = 100
    await fixture.reopen()
    await fixture.fill(600)
    await fixture.ledger.checkpoint()
    for (const name of [
      'tile/0/000',
      'tile/0/002.p/88',
      'tile/1/000.p/2',
      'tile/entries/000',
      'tile/entries/002.p/88',
    ]) {
      const path = join(fixture.log, name)
      const before = readFileSync(path)
      rmSync(path)
      symlinkSync(key, path)
      rmSync(directory, { recursive: true, force: true })
      await fixture.ledger.exportTo(directory, { withBodies: true })
      const written = existsSync(directory)
        ? filesIn(directory).map((file) => readFileSync(join(directory, file), 'latin1'))
        : []
      expect([name, written.filter((text) => text.includes('PRIVATE'))]).toEqual([name, []])
      rmSync(path)
      writeFileSync(path, before)
    }
  })

  it('refuses a directory with the export of another log and leaves it unchanged', async () => {
    await fixture.fill(300)
    await exported()
    const other = await LedgerFixture.open()
    await other.fill(400)
    expect(await other.ledger.exportTo(directory)).toMatchObject({ ok: false, fault: { kind: 'export-diverged' } })
    other.remove()
    expect(await verified()).toMatchObject({ size: 300, findings: [] })
  })

  it.runIf(process.platform === 'linux')('reports a directory that cannot be created, without retrying', async () => {
    await fixture.fill(3)
    expect(await fixture.ledger.exportTo('/proc/1/hearthbus/export')).toMatchObject({
      ok: false,
      fault: { kind: 'export-unwritable', directory: '/proc/1/hearthbus/export' },
    })
  })

  it('is not verified by the key of another log', async () => {
    await fixture.fill(3)
    await exported()
    const other = await LedgerFixture.open()
    const report = await verifyLedgerExport(directory, other.ledger.verifierKey)
    other.remove()
    expect(report.findings).toMatchObject([{ kind: 'checkpoint-untrusted', where: 'export' }])
  })
})

describe('an altered export', () => {
  let sound: LedgerFixture
  let copy: string

  beforeAll(async () => {
    sound = await LedgerFixture.open()
    await sound.fill(600)
    await sound.ledger.exportTo(join(sound.directory, 'export'))
    copy = mkdtempSync(join(tmpdir(), 'export-'))
  })

  afterAll(() => {
    sound.remove()
    rmSync(copy, { recursive: true })
  })

  const after = async (change: (file: string) => void, pick: number) => {
    const from = join(sound.directory, 'export')
    cpSync(from, copy, { recursive: true, force: true })
    const files = filesIn(from)
    change(join(copy, files[pick % files.length] ?? ''))
    return (await verifyLedgerExport(copy, sound.ledger.verifierKey)).findings
  }

  it('with any one byte changed is not verified', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.nat(), fc.integer({ min: 1, max: 255 }), async (pick, at, flip) => {
        const findings = await after((file) => {
          const bytes = readFileSync(file)
          bytes[at % bytes.length] = (bytes[at % bytes.length] ?? 0) ^ flip
          writeFileSync(file, bytes)
        }, pick)
        expect(findings).not.toEqual([])
      }),
      { numRuns: 60 },
    )
  })

  it('with any file missing or truncated is not verified', async () => {
    for (let pick = 0; pick < 8; pick++) {
      expect(await after((file) => rmSync(file), pick)).not.toEqual([])
      expect(await after((file) => writeFileSync(file, readFileSync(file).subarray(0, -1)), pick)).not.toEqual([])
    }
  })
})
