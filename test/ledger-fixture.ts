/** Ledger fixture: a ledger in a directory of its own that can be closed, tampered with and opened again. */
import { generateKeyPairSync } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { rewriteLog } from './ledger-attack.ts'
import { manualClock } from './manual-clock.ts'
import type { ManualClock } from './manual-clock.ts'
import { Database } from '../src/core/database-store.ts'
import type { Json } from '../src/core/json.ts'
import { deriveTailMacKey } from '../src/ledger/entry-group.ts'
import type { EntryToAppend } from '../src/ledger/entry-group.ts'
import { Ledger } from '../src/ledger/ledger.ts'
import type { SignedCheckpoint } from '../src/ledger/checkpoint.ts'
import { ledgerMigrations } from '../src/ledger/ledger-tables-store.ts'
import { createLogSigner } from '../src/ledger/note-key.ts'
import type { LogSigner } from '../src/ledger/note-key.ts'
import type { UntypedProjection } from '../src/ledger/projection.ts'

export const ORIGIN = 'hearthbus.test/ledger'

export class LedgerFixture {
  readonly directory: string
  readonly path: string
  readonly log: string
  readonly lastSignedPath: string
  readonly clock: ManualClock = manualClock()
  readonly signer: LogSigner
  /** Fewer than usual where a test wants the tail to let go of entries. */
  segmentEntries: number | undefined
  /** States that are computed from the log when it is opened. */
  projections: readonly UntypedProjection[] = []
  database!: Database
  ledger!: Ledger

  /** In a directory of its own with a key of its own, unless told otherwise. */
  constructor(directory = mkdtempSync(join(tmpdir(), 'ledger-')), signer = createLogSigner(ORIGIN, newKey())) {
    this.signer = signer
    this.directory = directory
    this.path = join(directory, 'node.db')
    this.log = join(directory, 'ledger')
    this.lastSignedPath = join(directory, 'last-signed')
  }

  static async open(): Promise<LedgerFixture> {
    const fixture = new LedgerFixture()
    await fixture.open()
    return fixture
  }

  async open(): Promise<Ledger> {
    this.database = new Database({
      path: this.path,
      migrations: [ledgerMigrations, { module: 'test', steps: ['CREATE TABLE domain (name TEXT UNIQUE) STRICT'] }],
    })
    const { database, signer, lastSignedPath, clock } = this
    const { segmentEntries, projections } = this
    const files = { database, lastSignedPath, segmentEntries }
    this.ledger = await Ledger.open({ ...files, origin: ORIGIN, signer, clock, projections })
    return this.ledger
  }

  /** Closes, lets somebody change the file behind the ledger's back, and opens again. */
  async reopen(meanwhile: (sql: DatabaseSync) => void = () => undefined): Promise<Ledger> {
    this.database.close()
    this.tamper(meanwhile)
    return this.open()
  }

  /** Closes, puts other entries in the place of those that are stored, as who has the node's key can, and opens. */
  async rewrite(change: (entries: EntryToAppend[]) => readonly EntryToAppend[]): Promise<Ledger> {
    this.database.close()
    await rewriteLog(this.log, deriveTailMacKey(this.signer), change)
    return this.open()
  }

  /** Closes, copies everything and opens again; what it answers puts the copy back, once the fixture is closed. */
  async backup(): Promise<(parts?: { readonly lastSigned?: boolean }) => void> {
    this.database.close()
    const copy = mkdtempSync(join(tmpdir(), 'ledger-backup-'))
    const own = readdirSync(this.directory).filter((name) => /^(?:node\.db|ledger|last-signed)/.test(name))
    for (const name of own) cpSync(join(this.directory, name), join(copy, name), { recursive: true })
    await this.open()
    return ({ lastSigned = false } = {}) => {
      const kept = lastSigned ? undefined : readFileSync(this.lastSignedPath)
      for (const name of readdirSync(this.directory).filter((one) => /^(?:node\.db|ledger|last-signed)/.test(one)))
        rmSync(join(this.directory, name), { recursive: true })
      cpSync(copy, this.directory, { recursive: true })
      if (kept !== undefined) writeFileSync(this.lastSignedPath, kept)
      rmSync(copy, { recursive: true })
    }
  }

  /** Writes past the triggers, as anybody with access to the file can. */
  tamper(change: (sql: DatabaseSync) => void): void {
    const sql = new DatabaseSync(this.path)
    sql.exec('PRAGMA synchronous = OFF')
    const triggers = sql.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all()
    for (const { name } of triggers) sql.exec(`DROP TRIGGER ${String(name)}`)
    change(sql)
    for (const trigger of triggers) sql.exec(String(trigger['sql']))
    sql.close()
  }

  /** A plausible history: calls with bodies, some of them erased, one left open. */
  async fill(entries: number): Promise<void> {
    const { database, ledger } = this
    while (ledger.size() < entries)
      await database.commit(() => {
        for (let left = 256; left > 0 && ledger.size() < entries; left--) this.#one(ledger.size())
      })
  }

  async checkpoint(): Promise<SignedCheckpoint> {
    const signed = await this.ledger.checkpoint()
    if (!signed.ok) throw new Error(`not signed: ${signed.fault.kind}`)
    return signed.value
  }

  /** Everything in the data directory, as one. */
  bytesOnDisk(): Buffer {
    const files = readdirSync(this.directory, { recursive: true, withFileTypes: true }).filter((file) => file.isFile())
    return Buffer.concat(files.map(({ parentPath, name }) => readFileSync(join(parentPath, name))))
  }

  remove(): void {
    this.database.close()
    rmSync(this.directory, { recursive: true })
  }

  #one(seq: number): void {
    const body: Json | undefined = seq % 5 === 0 ? { text: `body of ${seq}` } : undefined
    if (seq % 2 === 0)
      this.ledger.appendIn({ kind: 'call.enter', tool: 'tool', principal: 'agent-7', trace_id: 't' }, body)
    else if (seq % 3 === 0) this.ledger.appendIn({ kind: 'thought', agent_id: 'agent-7', call: seq - 1 }, body)
    else this.ledger.appendIn({ kind: 'call.exit', call: seq - 1, outcome: 'ok' }, body)
  }
}

function newKey(): KeyObject {
  return generateKeyPairSync('ed25519').privateKey
}
