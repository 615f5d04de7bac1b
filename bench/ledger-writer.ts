/**
 * Ledger writer: a process that appends, signs and makes tiles as fast as it can until it is killed. What it says on its
 * standard output it was told is durable: `appended ID`, `signed BASE64`. Before
 * that it says what it found. `refused FAULT` is a checkpoint that it did not get.
 */
import { createPrivateKey } from 'node:crypto'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { systemClock } from '../src/core/clock.ts'
import { Database } from '../src/core/database-store.ts'
import { formatSignedCheckpoint, verifyAndParseCheckpoint } from '../src/ledger/checkpoint.ts'
import { ledgerMigrations } from '../src/ledger/ledger-tables-store.ts'
import { Ledger } from '../src/ledger/ledger.ts'
import { createLogSigner } from '../src/ledger/note-key.ts'

const [folder = '', kept = '', run = ''] = process.argv.slice(2)
const CALLERS = 32
/** So that tiles, bundles, checkpoints and segments are begun and ended all the time. */
const SEGMENT_ENTRIES = 300
/** RFC 8032 § 7.1, test 1. */
const SEED = '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60'

const origin = 'hearthbus.local/writer'
const der = Buffer.from(`302e020100300506032b657004220420${SEED}`, 'hex')
const signer = createLogSigner(origin, createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }))
const rows = { module: 'bench', steps: ['CREATE TABLE written (id TEXT PRIMARY KEY) STRICT'] }
const database = new Database({ path: join(folder, 'node.db'), migrations: [ledgerMigrations, rows], isWhole: true })
const ledger = await Ledger.open({
  database,
  signer,
  origin,
  lastSignedPath: join(folder, 'checkpoint.signed'),
  clock: systemClock,
  segmentEntries: SEGMENT_ENTRIES,
})

const aborted = await ledger.abortOpenCalls()
await ledger.checkpoint()
const findings = (await ledger.verify()).findings.map((finding) => JSON.stringify(finding))
const checkpoint = verifyAndParseCheckpoint(Buffer.from(kept, 'base64'), signer.key)
const fork = checkpoint.ok ? await ledger.compareWithCheckpoint(checkpoint.value) : undefined
const ids = [...ledger.records()].filter(({ event }) => event.kind === 'call.enter').map(({ event }) => event['id'])
const written = database.sql.prepare('SELECT id FROM written').all()
const state = ledger.state()
say({
  size: ledger.size(),
  state: state.kind,
  fault: state.kind === 'refusing' ? state.fault : undefined,
  findings,
  fork: fork?.kind,
  aborted: aborted.length,
  ids,
  written: written.map(({ id }) => id),
})

let next = 0
// A ledger that refuses takes no entries: the process ends by itself, when all that it found is said.
if (state.kind !== 'refusing') await Promise.all([...Array.from({ length: CALLERS }, append), sign()])

async function append(): Promise<void> {
  for (;;) {
    const id = `${run}-${next++}`
    // Every other call changes a row with its entry.
    const { seq } = await database.commit(
      (sql) => {
        if (next % 2 === 0) sql.prepare('INSERT INTO written VALUES (?)').run(id)
        return ledger.appendIn({ kind: 'call.enter', id, row: next % 2 === 0 }, { said: id })
      },
      { tables: next % 2 === 0 },
    )
    await ledger.append({ kind: 'call.exit', call: seq, outcome: 'ok' })
    process.stdout.write(`appended ${id}\n`)
  }
}

async function sign(): Promise<void> {
  for (;;) {
    const signed = await ledger.checkpoint()
    if (!signed.ok) {
      process.stdout.write(`refused ${JSON.stringify(signed.fault)}\n`)
      return
    }
    process.stdout.write(`signed ${Buffer.from(formatSignedCheckpoint(signed.value)).toString('base64')}\n`)
    // A checkpoint that is still the newest is given at once.
    await setImmediate()
  }
}

function say(found: object): void {
  process.stdout.write(`found ${JSON.stringify(found)}\n`)
}
