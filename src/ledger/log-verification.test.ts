import { generateKeyPairSync } from 'node:crypto'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { edited } from '../../test/ledger-attack.ts'
import { LedgerFixture } from '../../test/ledger-fixture.ts'
import type { LedgerFinding } from './ledger-finding.ts'
import { formatLedgerFinding } from './ledger-finding.ts'
import type { EntryToAppend } from './entry-group.ts'
import { signNote, verifyNote } from './signed-note.ts'
import { createCosigner } from './note-key.ts'

const witness = createCosigner('witness.test/w', generateKeyPairSync('ed25519').privateKey, () => 1_700_000_000_000)

/** Everything is there: full tiles, bodies kept and erased, calls open and closed, a cosigned checkpoint. */
async function fill(fixture: LedgerFixture): Promise<void> {
  await fixture.fill(290)
  const signed = await fixture.checkpoint()
  const cosigned = verifyNote(signNote(signed.note.text, [witness]), [witness.key])
  if (!cosigned.ok) throw new Error('not cosigned')
  await fixture.ledger.addCosignatures(signed, cosigned.value)
  await fixture.ledger.eraseBody(20)
  await fixture.fill(300)
  await fixture.checkpoint()
}

describe('ledger verification', () => {
  let fixture: LedgerFixture

  beforeEach(async () => {
    fixture = await LedgerFixture.open()
    await fill(fixture)
  })

  afterEach(() => fixture.remove())

  const afterSql = async (change: (sql: DatabaseSync) => void): Promise<readonly LedgerFinding[]> => {
    await fixture.reopen(change)
    return (await fixture.ledger.verify()).findings
  }

  const afterRewrite = async (change: Parameters<LedgerFixture['rewrite']>[0]): Promise<readonly LedgerFinding[]> => {
    await fixture.rewrite(change)
    return (await fixture.ledger.verify()).findings
  }

  it('reports no findings for an intact ledger, with size, root and counts', async () => {
    const report = await fixture.ledger.verify()
    expect(report).toEqual({
      from: 0,
      size: 300,
      root: fixture.ledger.root(),
      signed: fixture.ledger.latestCheckpoint(),
      findings: [],
      more: 0,
      erased: 1,
      compared: true,
      unchecked: [],
    })
  })

  it('reports no findings for an empty ledger', async () => {
    const empty = await LedgerFixture.open()
    expect(await empty.ledger.verify()).toMatchObject({ size: 0, findings: [] })
    empty.remove()
  })

  it('finds a truncated tail', async () => {
    expect(await afterRewrite((entries) => entries.slice(0, 297))).toEqual([
      { kind: 'file-missing', path: 'tile/entries/001.p/44' },
      { kind: 'file-missing', path: 'tile/0/001.p/44' },
      { kind: 'tail-missing', where: 'export', size: 297, signed: 300 },
      { kind: 'tail-missing', where: 'file', size: 297, signed: 300 },
      { kind: 'tail-missing', where: 'database 300', size: 297, signed: 300 },
    ])
  })

  it('finds a missing bundle and continues after it', async () => {
    const findings = await afterRewrite((entries) => entries)
    expect(findings).toEqual([])
    fixture.segmentEntries = 10
    await fixture.reopen()
    await fixture.fill(900)
    await fixture.checkpoint()
    await fixture.reopen(() => rmSync(join(fixture.log, 'tile/entries/000')))
    const report = await fixture.ledger.verify()
    expect(report.findings).toContainEqual({ kind: 'file-missing', path: 'tile/entries/000' })
    expect(report).toMatchObject({ size: 900, root: undefined })
  })

  it('finds a deleted chain of entries even if the later ones were renumbered', async () => {
    const findings = await afterRewrite((entries) =>
      entries.filter(({ bytes }) => !Buffer.from(bytes).includes('"kind":"thought"')),
    )
    expect(findings).toContainEqual({ kind: 'tail-missing', where: 'file', size: 250, signed: 300 })
    expect(findings).toContainEqual({ kind: 'entry-misplaced', seq: 3, claims: 4 })
  })

  it('finds two swapped entries', async () => {
    const findings = await afterRewrite((entries) => entries.with(3, entries[9]!).with(9, entries[3]!))
    expect(findings).toContainEqual({ kind: 'entry-misplaced', seq: 3, claims: 9 })
    expect(findings).toContainEqual({ kind: 'root-differs', where: 'file', signed: 300 })
  })

  const rewritten = (entries: readonly EntryToAppend[]) => entries.map((entry) => edited(entry, 'agent-7', 'agent-8'))

  it('finds an entry rewritten with recomputed hashes, by comparison with the signed checkpoints', async () => {
    expect(await afterRewrite(rewritten)).toEqual([
      { kind: 'root-differs', where: 'database 290', signed: 290 },
      { kind: 'root-differs', where: 'export', signed: 300 },
      { kind: 'root-differs', where: 'file', signed: 300 },
      { kind: 'root-differs', where: 'database 300', signed: 300 },
    ])
  })

  it('finds a rewritten entry by a checkpoint kept elsewhere when all local ones were removed', async () => {
    const kept = fixture.ledger.latestCheckpoint()
    rmSync(fixture.lastSignedPath)
    await fixture.rewrite(rewritten)
    const findings = await afterSql((sql) => {
      sql.exec('DELETE FROM ledger_checkpoint; DELETE FROM ledger_witness')
      rmSync(join(fixture.log, 'checkpoint'))
    })
    expect(findings).toEqual([])
    const given = [{ kind: 'root-differs', where: 'given', signed: 300 }]
    expect((await fixture.ledger.verify({ since: kept })).findings).toEqual(given)
    expect((await fixture.ledger.verify({ known: kept && [kept] })).findings).toEqual(given)
  })

  const put = (entries: EntryToAppend[], seq: number, body: EntryToAppend['body']) =>
    entries.with(seq, { bytes: entries[seq]?.bytes ?? Buffer.alloc(0), body })

  it.each<[string, Parameters<LedgerFixture['rewrite']>[0], LedgerFinding]>([
    [
      'a body changed',
      (entries) => put(entries, 0, { salt: entries[0]!.body!.salt, body: Buffer.from('"x"') }),
      { kind: 'body-differs', seq: 0 },
    ],
    ['a body deleted', (entries) => put(entries, 5, undefined), { kind: 'body-missing', seq: 5 }],
    [
      'a body without commitment',
      (entries) => put(entries, 1, entries[0]?.body),
      { kind: 'body-without-entry', seq: 1 },
    ],
    [
      'the second exit of a call',
      (entries) => [...entries, edited(entries[1]!, '"seq":1,', '"seq":300,')],
      { kind: 'call-not-open', seq: 300, call: 0 },
    ],
  ])('finds %s', async (_, change, finding) => {
    const findings = await afterRewrite(change)
    expect(findings).toContainEqual(finding)
    expect(findings.map(formatLedgerFinding).join(' ')).not.toContain('undefined')
  })

  it('reports nothing for a restored erased body, because the start erases it again', async () => {
    expect(await afterRewrite((entries) => put(entries, 20, entries[0]?.body))).toEqual([])
    expect(fixture.ledger.body(20)).toEqual({ kind: 'erased' })
  })

  it.each<[string, string, LedgerFinding]>([
    [
      'a witness forgotten',
      'DELETE FROM ledger_witness',
      { kind: 'checkpoint-untrusted', where: 'database 290', reason: 'no witness called witness.test/w is known' },
    ],
    [
      'a trigger that nobody made, in any table',
      'CREATE TRIGGER planted AFTER INSERT ON domain BEGIN DELETE FROM domain; END',
      { kind: 'schema-differs', name: 'planted' },
    ],
    ['an index that nobody made', 'CREATE INDEX extra ON domain (name)', { kind: 'schema-differs', name: 'extra' }],
    ['a view that nobody made', 'CREATE VIEW extra AS SELECT 1', { kind: 'schema-differs', name: 'extra' }],
  ])('finds %s', async (_, change, finding) => {
    await fixture.ledger.verify()
    fixture.database.close()
    const sql = new DatabaseSync(fixture.path)
    sql.exec(change)
    sql.close()
    await fixture.open()
    expect((await fixture.ledger.verify()).findings).toContainEqual(finding)
  })

  it('finds a lookup cache that differs from the log', async () => {
    const lookup = (change: string): void => {
      const sql = new DatabaseSync(join(fixture.log, 'lookup.db'))
      sql.exec(change)
      sql.close()
    }
    await fixture.reopen(() => lookup('UPDATE lookup SET ended = 3 WHERE seq = 2'))
    expect((await fixture.ledger.verify()).findings).toContainEqual({ kind: 'lookup-differs', seq: 2 })
    await fixture.reopen(() => lookup('UPDATE lookup SET ended = NULL WHERE seq = 2; DELETE FROM lookup WHERE seq = 0'))
    expect((await fixture.ledger.verify()).findings).toEqual([{ kind: 'lookup-differs', seq: 0 }])
  })

  it('finds changed files of a running node, which stays writable', async () => {
    const path = join(fixture.log, 'tile/0/000')
    const tile = readFileSync(path)
    flipInFile(path, 40, 1)
    await fixture.ledger.verify()
    expect(fixture.ledger.state()).toEqual({ kind: 'damaged', findings: 1 })
    // It is still written and signed.
    await fixture.ledger.append({ kind: 'note' })
    expect((await fixture.ledger.checkpoint()).ok).toBe(true)
    writeFileSync(path, tile)
    expect(await fixture.ledger.verify({ incremental: true })).toMatchObject({ from: 0, findings: [] })
    expect(fixture.ledger.state()).toEqual({ kind: 'sound' })
    const [segment = ''] = readdirSync(join(fixture.log, 'tail'))
    flipInFile(join(fixture.log, 'tail', segment), 200, 1)
    expect((await fixture.ledger.verify()).findings).toMatchObject([{ kind: 'unreadable' }])
  })

  it('lists the first 20 findings of a kind and counts the others', async () => {
    await fixture.rewrite((entries) => entries.map(({ bytes }) => ({ bytes })))
    const { findings, more } = await fixture.ledger.verify()
    expect([findings.filter(({ kind }) => kind === 'body-missing').length, more]).toEqual([20, 38])
  })

  it('reads only entries since the last verification when it is incremental', async () => {
    expect(await fixture.ledger.verify({ incremental: true })).toMatchObject({ from: 0, findings: [] })
    await fixture.fill(600)
    await fixture.ledger.eraseBody(25)
    await fixture.ledger.append({ kind: 'call.exit', call: 2, outcome: 'ok' })
    await fixture.checkpoint()
    expect(await fixture.ledger.verify({ incremental: true })).toMatchObject({ from: 256, size: 602, findings: [] })
    expect(await fixture.ledger.verify({ incremental: true })).toMatchObject({ from: 512, findings: [] })
  })

  it('finds a tree that is smaller than the given checkpoint', async () => {
    const since = fixture.ledger.latestCheckpoint()
    await fixture.rewrite((entries) => entries.slice(0, 100))
    const { findings } = await fixture.ledger.verify({ since })
    expect(findings).toContainEqual({ kind: 'tail-missing', where: 'given', size: 100, signed: 300 })
  })

  it('reports no findings while other calls append, erase, sign and cosign', async () => {
    await fixture.fill(3_000)
    const work = { done: false }
    const verified = fixture.ledger.verify().finally(() => {
      work.done = true
    })
    while (!work.done) {
      const { seq } = await fixture.ledger.append({ kind: 'call.enter' }, 'body')
      await fixture.ledger.append({ kind: 'call.exit', call: seq, outcome: 'ok' })
      await fixture.ledger.eraseBody(seq)
      await fixture.ledger.eraseBody((fixture.ledger.size() * 5) % 3_000)
      await fixture.checkpoint()
    }
    const report = await verified
    expect(report.findings).toEqual([])
    expect(report.size).toBeGreaterThan(3_000)
  })

  it('reports its progress and stops when it is aborted', async () => {
    await fixture.fill(2_000)
    const progress: number[] = []
    await fixture.ledger.verify({ onProgress: (checked) => progress.push(checked) })
    expect([...new Set(progress)]).toEqual([256, 512, 768, 1_024, 1_280, 1_536, 1_792, 2_000])
    const stop = new AbortController()
    const stopped = fixture.ledger.verify({ signal: stop.signal, onProgress: () => stop.abort() })
    await expect(stopped).rejects.toThrow('aborted')
  })
})

describe('one changed byte', () => {
  let pristine: LedgerFixture
  let copies: string

  beforeAll(async () => {
    pristine = await LedgerFixture.open()
    await fill(pristine)
    pristine.database.close()
    copies = mkdtempSync(join(tmpdir(), 'ledger-copy-'))
  })

  afterAll(() => {
    pristine.remove()
    rmSync(copies, { recursive: true })
  })

  /** A copy with the same key, changed while closed; what a fresh start and a full verify then say. */
  async function afterChange(
    change: (copy: LedgerFixture) => boolean,
  ): Promise<readonly LedgerFinding[] | 'unchanged'> {
    rmSync(copies, { recursive: true, force: true })
    cpSync(pristine.directory, copies, { recursive: true })
    const copy = new LedgerFixture(copies, pristine.signer)
    try {
      if (!change(copy)) return 'unchanged'
      await copy.open()
    } catch (error) {
      // A file that SQLite or the migrations refuse is noticed, too.
      return [{ kind: 'unreadable', reason: String(error) }]
    }
    const { findings } = await copy.ledger.verify()
    copy.database.close()
    return findings
  }

  const COLUMNS = [
    ['ledger_checkpoint', 'size'],
    ['ledger_checkpoint', 'cosignatures'],
    ['ledger_checkpoint', 'note'],
    ['ledger_witness', 'vkey'],
  ] as const

  it('in any column of any table is found', async () => {
    const change = fc.record({
      column: fc.constantFrom(...COLUMNS),
      row: fc.nat(),
      at: fc.nat(),
      flip: fc.integer({ min: 1, max: 127 }),
    })
    await fc.assert(
      fc.asyncProperty(change, async ({ column: [table, column], row, at, flip }) => {
        const findings = await afterChange((copy) => {
          let changed = false
          copy.tamper((sql) => {
            changed = flipByte(sql, { table, column, row, at, flip })
          })
          return changed
        })
        fc.pre(findings !== 'unchanged')
        expect(findings).not.toEqual([])
      }),
      { numRuns: 20 },
    )
  })

  it('in any file of the log is found, unless the file is rebuilt from intact data', async () => {
    const files = readdirSync(pristine.log, { recursive: true, withFileTypes: true })
      .filter((file) => file.isFile() && !/^(?:lookup|nodes|bundle-macs)/.test(file.name))
      .map((file) => relative(pristine.log, join(file.parentPath, file.name)))
    const pick = fc.record({ file: fc.constantFrom(...files), at: fc.nat(), flip: fc.integer({ min: 1, max: 255 }) })
    await fc.assert(
      fc.asyncProperty(pick, async ({ file, at, flip }) => {
        const before = readFileSync(join(pristine.log, file))
        const findings = await afterChange(({ log }) => flipInFile(join(log, file), at % before.length, flip))
        const isHealed =
          file.startsWith('bodies/') ||
          (/^(?:tile|tail)\//.test(file) && readFileSync(join(copies, 'ledger', file)).equals(before))
        // Only what was signed is kept of partial tiles, and a later checkpoint writes its own.
        const isOutgrown = /\.p\/(?!44$)/.test(file)
        expect(findings.length > 0 || isHealed || isOutgrown ? true : [file, at % before.length, findings]).toBe(true)
      }),
      {
        numRuns: 80,
        // The index of an erased body.
        examples: [[{ file: 'tail/0000000000000000', at: 32_417, flip: 1 }]],
      },
    )
  })

  it('in the last-signed file is found', async () => {
    const length = readFileSync(pristine.lastSignedPath).length
    await fc.assert(
      fc.asyncProperty(fc.nat(length - 1), fc.integer({ min: 1, max: 255 }), async (at, flip) => {
        const findings = await afterChange(({ lastSignedPath }) => flipInFile(lastSignedPath, at, flip))
        expect(findings).not.toEqual([])
      }),
      { numRuns: 20 },
    )
  })
})

interface Flip {
  readonly table: string
  readonly column: string
  readonly row: number
  readonly at: number
  readonly flip: number
}

/** `false` when the row has no value there, or SQLite does not take the changed one. */
function flipByte(sql: DatabaseSync, { table, column, row, at, flip }: Flip): boolean {
  const count = Number(sql.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.['count'])
  const order = table === 'ledger_witness' ? 'vkey' : 'rowid'
  const found = sql
    .prepare(`SELECT ${column} AS value FROM ${table} ORDER BY ${order} LIMIT 1 OFFSET ?`)
    .get(row % count)
  const value = found?.['value']
  if (value === null || value === undefined) return false
  const where = `${order} = (SELECT ${order} FROM ${table} ORDER BY ${order} LIMIT 1 OFFSET ?)`
  try {
    sql.prepare(`UPDATE ${table} SET ${column} = ? WHERE ${where}`).run(flipped(value, at, flip), row % count)
    return true
  } catch {
    return false
  }
}

function flipped(value: unknown, at: number, flip: number): Uint8Array | string | number {
  if (typeof value === 'number') return value ^ flip
  const bytes = typeof value === 'string' ? Buffer.from(value) : Buffer.from(value as Uint8Array)
  bytes[at % bytes.length] = (bytes[at % bytes.length] ?? 0) ^ flip
  return typeof value === 'string' ? bytes.toString('latin1') : bytes
}

function flipInFile(path: string, at: number, flip: number): boolean {
  const bytes = readFileSync(path)
  bytes[at] = (bytes[at] ?? 0) ^ flip
  writeFileSync(path, bytes)
  return true
}
