import { generateKeyPairSync } from 'node:crypto'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { rehash } from '../../test/ledger-attack.ts'
import { LedgerFixture, ORIGIN } from '../../test/ledger-fixture.ts'
import { Database } from '../core/database-store.ts'
import type { Finding } from './finding.ts'
import { findingSentence } from './finding.ts'
import { Ledger } from './ledger.ts'
import { signNote, verifyNote } from './note.ts'
import { cosigner } from './note-key.ts'

const witness = cosigner('witness.test/w', generateKeyPairSync('ed25519').privateKey, () => 1_700_000_000_000)

/** Every table has rows: full tiles, bodies kept and erased, calls open and closed, a cosigned checkpoint. */
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

describe('verify', () => {
  let fixture: LedgerFixture

  beforeEach(async () => {
    fixture = await LedgerFixture.open()
    await fill(fixture)
  })

  afterEach(() => fixture.remove())

  const findingsAfter = async (change: (sql: DatabaseSync) => void): Promise<readonly Finding[]> => {
    await fixture.reopen(change)
    return (await fixture.ledger.verify()).findings
  }

  it('finds nothing wrong with a sound ledger, and says what it saw', async () => {
    const report = await fixture.ledger.verify()
    expect(report).toEqual({
      from: 0,
      size: 300,
      root: fixture.ledger.root(),
      findings: [],
      more: 0,
      erased: 1,
      compared: true,
    })
  })

  it('finds an empty ledger sound', async () => {
    const empty = await LedgerFixture.open()
    expect(await empty.ledger.verify()).toMatchObject({ size: 0, findings: [] })
    empty.remove()
  })

  it('finds a cut-off tail', async () => {
    const findings = await findingsAfter((sql) => {
      sql.exec('DELETE FROM ledger_entry WHERE seq >= 297; DELETE FROM ledger_open_call WHERE seq >= 297')
      sql.exec('DELETE FROM ledger_body WHERE seq >= 297')
    })
    expect(findings).toEqual([
      { kind: 'tail-missing', where: 'file', size: 297, signed: 300 },
      { kind: 'tail-missing', where: 'database 300', size: 297, signed: 300 },
    ])
  })

  it('finds deleted entries', async () => {
    const findings = await findingsAfter((sql) => sql.exec('DELETE FROM ledger_entry WHERE seq IN (7, 13, 14)'))
    expect(findings).toContainEqual({ kind: 'entries-missing', from: 7, to: 7 })
    expect(findings).toContainEqual({ kind: 'entries-missing', from: 13, to: 14 })
    expect((await fixture.ledger.verify()).root).toBeUndefined()
  })

  it('finds a whole chain of events deleted and the rest moved up', async () => {
    const findings = await findingsAfter((sql) => {
      sql.exec("DELETE FROM ledger_entry WHERE kind = 'thought'")
      const rows = sql.prepare('SELECT seq FROM ledger_entry ORDER BY seq').all()
      const move = sql.prepare('UPDATE ledger_entry SET seq = ? WHERE seq = ?')
      for (const [index, row] of rows.entries()) move.run(index, Number(row['seq']))
      rehash(sql)
    })
    expect(findings).toContainEqual({ kind: 'tail-missing', where: 'file', size: 250, signed: 300 })
    expect(findings).toContainEqual({ kind: 'entry-misplaced', seq: 3, claims: 4 })
  })

  it('finds two entries that changed places', async () => {
    const findings = await findingsAfter((sql) => {
      sql.exec('UPDATE ledger_entry SET seq = 1000 WHERE seq = 3; UPDATE ledger_entry SET seq = 3 WHERE seq = 9')
      sql.exec('UPDATE ledger_entry SET seq = 9 WHERE seq = 1000')
    })
    expect(findings).toContainEqual({ kind: 'entry-misplaced', seq: 3, claims: 9 })
    expect(findings).toContainEqual({ kind: 'tile-differs', level: 0, index: 0 })
    expect(findings).toContainEqual({ kind: 'root-differs', where: 'file', signed: 300 })
  })

  const rewrite = (sql: DatabaseSync) =>
    sql.exec(`UPDATE ledger_entry SET bytes = CAST(replace(CAST(bytes AS TEXT), 'agent-7', 'agent-8') AS BLOB)`)

  it('finds a rewritten agent', async () => {
    const findings = await findingsAfter(rewrite)
    expect(findings).toContainEqual({ kind: 'tile-differs', level: 0, index: 0 })
    expect(findings).toContainEqual({ kind: 'root-differs', where: 'database 290', signed: 290 })
  })

  it('finds a rewritten agent after every hash was made anew, by what was signed', async () => {
    const findings = await findingsAfter((sql) => {
      rewrite(sql)
      rehash(sql)
    })
    expect(findings).toEqual([
      { kind: 'root-differs', where: 'database 290', signed: 290 },
      { kind: 'root-differs', where: 'file', signed: 300 },
      { kind: 'root-differs', where: 'database 300', signed: 300 },
    ])
  })

  it('finds it even with every local checkpoint removed, by one that was kept elsewhere', async () => {
    const kept = fixture.ledger.latestCheckpoint()
    rmSync(fixture.lastSignedPath)
    const findings = await findingsAfter((sql) => {
      rewrite(sql)
      rehash(sql)
      sql.exec('DELETE FROM ledger_checkpoint; DELETE FROM ledger_witness')
    })
    expect(findings).toEqual([])
    expect((await fixture.ledger.verify({ since: kept })).findings).toEqual([
      { kind: 'root-differs', where: 'given', signed: 300 },
    ])
  })

  it.each<[string, string, Finding]>([
    [
      'a body changed',
      'UPDATE ledger_body SET body = CAST(\'"x"\' AS BLOB) WHERE seq = 0',
      { kind: 'body-differs', seq: 0 },
    ],
    ['a body deleted', 'DELETE FROM ledger_body WHERE seq = 5', { kind: 'body-missing', seq: 5 }],
    [
      'an erased body put back',
      'INSERT INTO ledger_body SELECT 20, salt, body FROM ledger_body WHERE seq = 0',
      { kind: 'erasure-unfounded', seq: 290, entry: 20 },
    ],
    [
      'a body without commitment',
      'INSERT INTO ledger_body SELECT 1, salt, body FROM ledger_body WHERE seq = 0',
      { kind: 'body-without-entry', seq: 1 },
    ],
    [
      'a body beyond the end',
      'INSERT INTO ledger_body SELECT 900, salt, body FROM ledger_body WHERE seq = 0',
      { kind: 'body-without-entry', seq: 900 },
    ],
    ['a tile deleted', 'DELETE FROM ledger_tile', { kind: 'tile-differs', level: 0, index: 0 }],
    [
      'a tile too many',
      'INSERT INTO ledger_tile SELECT 0, 1, root, hashes FROM ledger_tile',
      { kind: 'tiles-superfluous', expected: 1, found: 2 },
    ],
    ['an open call forgotten', 'DELETE FROM ledger_open_call WHERE seq = 2', { kind: 'open-calls-differ', call: 2 }],
    ['an open call made up', 'INSERT INTO ledger_open_call VALUES (3)', { kind: 'open-calls-differ', call: 3 }],
    [
      'a kind column changed',
      "UPDATE ledger_entry SET kind = 'x' WHERE seq = 4",
      { kind: 'column-differs', seq: 4, column: 'kind' },
    ],
    [
      'a call that seems to end elsewhere',
      'UPDATE ledger_entry SET closes = 8 WHERE seq = 1',
      { kind: 'column-differs', seq: 1, column: 'closes' },
    ],
    [
      'a witness forgotten',
      'DELETE FROM ledger_witness',
      { kind: 'checkpoint-untrusted', where: 'database 290', reason: 'no witness called witness.test/w is known' },
    ],
    [
      'another view of the actions',
      'DROP VIEW actions; CREATE VIEW actions AS SELECT 1',
      { kind: 'schema-differs', name: 'actions' },
    ],
    [
      'an index that nobody made',
      'CREATE INDEX ledger_extra ON ledger_body (seq)',
      { kind: 'schema-differs', name: 'ledger_extra' },
    ],
  ])('finds %s', async (_, change, finding) => {
    const findings = await findingsAfter((sql) => sql.exec(change))
    expect(findings).toContainEqual(finding)
    expect(findings.map(findingSentence).join(' ')).not.toContain('undefined')
  })

  it('finds the second exit of a call', async () => {
    const findings = await findingsAfter((sql) => {
      const text = String(
        sql.prepare('SELECT CAST(bytes AS TEXT) AS text FROM ledger_entry WHERE seq = 1').get()?.['text'],
      )
      const again = text.replace('"seq":1,', '"seq":300,')
      sql.prepare('INSERT INTO ledger_entry VALUES (300, ?, NULL, ?)').run('call.exit', Buffer.from(again))
    })
    expect(findings).toContainEqual({ kind: 'call-not-open', seq: 300, call: 0 })
  })

  it('lists the first twenty findings of a kind and counts the others', async () => {
    await fixture.reopen((sql) => sql.exec("UPDATE ledger_entry SET kind = 'x'"))
    const { findings, more } = await fixture.ledger.verify()
    expect([findings.length, more]).toEqual([20, 280])
  })

  it('that found damage shows in the state until one that read everything finds none', async () => {
    const { ledger } = fixture
    const change = (kind: string): void =>
      fixture.tamper((sql) => void sql.prepare('UPDATE ledger_entry SET kind = ? WHERE seq = 3').run(kind))
    const kind = ledger.entry(3)?.entry.kind ?? ''
    change('x')
    await ledger.verify()
    expect(ledger.state()).toEqual({ kind: 'damaged', findings: 1 })
    // It is still written and signed.
    await ledger.append({ kind: 'note' })
    expect((await ledger.checkpoint()).ok).toBe(true)
    expect((await ledger.verify({ since: ledger.latestCheckpoint() })).findings).toEqual([])
    expect(ledger.state().kind).toBe('damaged')
    change(kind)
    expect(await ledger.verify({ incremental: true })).toMatchObject({ from: 0, findings: [] })
    expect(ledger.state()).toEqual({ kind: 'sound' })
  })

  it('reads only what came since the last time, when asked', async () => {
    expect(await fixture.ledger.verify({ incremental: true })).toMatchObject({ from: 0, findings: [] })
    await fixture.fill(600)
    await fixture.ledger.eraseBody(25)
    await fixture.ledger.append({ kind: 'call.exit', call: 2, outcome: 'ok' })
    await fixture.checkpoint()
    expect(await fixture.ledger.verify({ incremental: true })).toMatchObject({ from: 256, size: 602, findings: [] })
    fixture.tamper((sql) => sql.exec("UPDATE ledger_entry SET kind = 'x' WHERE seq = 601"))
    expect(await fixture.ledger.verify({ incremental: true })).toMatchObject({ from: 512, findings: [{ seq: 601 }] })
  })

  it('finds in what came since that a call ended twice or never began', async () => {
    const since = fixture.ledger.latestCheckpoint()
    const findings = await (async () => {
      await fixture.reopen((sql) => {
        const put = sql.prepare('INSERT INTO ledger_entry VALUES (?, ?, ?, ?)')
        const exit = (seq: number, call: number) =>
          put.run(
            seq,
            'call.exit',
            call,
            Buffer.from(`{"at":"2026-01-01T00:00:00.000Z","call":${call},"kind":"call.exit","seq":${seq},"v":1}`),
          )
        exit(300, 1)
      })
      return (await fixture.ledger.verify({ since })).findings
    })()
    expect(findings).toEqual([{ kind: 'call-not-open', seq: 300, call: 1 }])
  })

  it('finds a tree that ends before the checkpoint it was given', async () => {
    const since = fixture.ledger.latestCheckpoint()
    await fixture.reopen((sql) => sql.exec('DELETE FROM ledger_entry WHERE seq >= 100'))
    const { findings } = await fixture.ledger.verify({ since })
    expect(findings).toContainEqual({ kind: 'tail-missing', where: 'given', size: 100, signed: 300 })
  })

  it('goes on while others write, erase, sign and cosign', async () => {
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

  it('goes on beside a process that writes', async () => {
    const { path, lastSignedPath, signer, clock } = fixture
    const beside = new Database({ path, migrations: [], readOnly: true })
    const reader = await Ledger.open({ database: beside, origin: ORIGIN, signer, lastSignedPath, clock })
    let verified = reader.verify()
    for (let round = 0; round < 20; round++) {
      await fixture.fill(fixture.ledger.size() + 40)
      await fixture.checkpoint()
      expect((await verified).findings).toEqual([])
      verified = reader.verify({ since: reader.latestCheckpoint() })
    }
    expect((await verified).size).toBeGreaterThan(1_000)
    beside.close()
  })

  it('tells how far it is and stops when told', async () => {
    await fixture.fill(2_000)
    const progress: number[] = []
    await fixture.ledger.verify({ onProgress: (checked) => progress.push(checked) })
    expect(progress).toEqual([256, 512, 768, 1_024, 1_280, 1_536, 1_792])
    const stop = new AbortController()
    const stopped = fixture.ledger.verify({ signal: stop.signal, onProgress: () => stop.abort() })
    await expect(stopped).rejects.toThrow('aborted')
  })
})

describe('any one byte', () => {
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
  async function afterChange(change: (copy: LedgerFixture) => boolean): Promise<readonly Finding[] | 'unchanged'> {
    cpSync(pristine.directory, copies, { recursive: true, force: true })
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
    ['ledger_entry', 'seq'],
    ['ledger_entry', 'kind'],
    ['ledger_entry', 'closes'],
    ['ledger_entry', 'bytes'],
    ['ledger_body', 'seq'],
    ['ledger_body', 'salt'],
    ['ledger_body', 'body'],
    ['ledger_tile', 'level'],
    ['ledger_tile', 'position'],
    ['ledger_tile', 'root'],
    ['ledger_tile', 'hashes'],
    ['ledger_checkpoint', 'size'],
    ['ledger_checkpoint', 'cosignatures'],
    ['ledger_checkpoint', 'note'],
    ['ledger_witness', 'vkey'],
    ['ledger_open_call', 'seq'],
  ] as const

  it('changed in any column of any table is found', async () => {
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
      { numRuns: 80 },
    )
  })

  it('changed in the file of the last checkpoint is found', async () => {
    const length = readFileSync(pristine.lastSignedPath).length
    await fc.assert(
      fc.asyncProperty(fc.nat(length - 1), fc.integer({ min: 1, max: 255 }), async (at, flip) => {
        const findings = await afterChange(({ lastSignedPath }) => flipInFile(lastSignedPath, at, flip))
        expect(findings).not.toEqual([])
      }),
      { numRuns: 20 },
    )
  })

  it('changed in the database file itself is found, unless no stored value depends on it', async () => {
    const sound = dump(pristine.path)
    const length = readFileSync(pristine.path).length
    await fc.assert(
      fc.asyncProperty(fc.nat(length - 1), fc.integer({ min: 1, max: 255 }), async (at, flip) => {
        let after = sound
        const findings = await afterChange(({ path }) => {
          flipInFile(path, at, flip)
          after = dump(path)
          return true
        })
        expect(findings.length > 0 || after === sound).toBe(true)
      }),
      { numRuns: 40 },
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

/** Every value that the ledger stores, or that it cannot be read. */
function dump(path: string): string {
  try {
    const sql = new DatabaseSync(path, { readOnly: true })
    try {
      return ['entry', 'body', 'tile', 'checkpoint', 'witness', 'open_call']
        .map((table) => JSON.stringify(sql.prepare(`SELECT * FROM ledger_${table}`).all()))
        .join('\n')
    } finally {
      sql.close()
    }
  } catch (error) {
    return String(error)
  }
}
