/**
 * The ledger at 10⁴, 10⁵ and 10⁶ entries: appending, proving, verifying, starting. What matters is how the figures grow:
 * appends and verification per entry should not, proofs should grow like the logarithm, a start hardly at all.
 */
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../src/core/clock.ts'
import { Database } from '../src/core/database-store.ts'
import { ledgerMigrations } from '../src/ledger/ledger-tables-store.ts'
import { Ledger } from '../src/ledger/ledger.ts'
import { createLogSigner } from '../src/ledger/note-key.ts'

const SIZES = [10_000, 100_000, 1_000_000]
/** What one work appends. Works of several callers share a group, and its one sync. */
const BATCH = 256
const BATCH_CALLERS = 4
const PROOFS = 2_000
const SINGLY = 5_000

const folder = mkdtempSync(join(tmpdir(), 'hearthbus-bench-'))
const origin = 'hearthbus.local/bench'
const signer = createLogSigner(origin, generateKeyPairSync('ed25519').privateKey)
/** A start reads the log for the states that decide, as that of a node does. */
const projections = [{ name: 'bench', initial: () => ({}), apply: { 'bench.grant': () => undefined } }]
let { database, ledger } = await open()

async function open(): Promise<{ database: Database; ledger: Ledger }> {
  const opened = new Database({ path: join(folder, 'ledger.db'), migrations: [ledgerMigrations] })
  const lastSignedPath = join(folder, 'signed')
  return {
    database: opened,
    ledger: await Ledger.open({ database: opened, signer, origin, lastSignedPath, clock: systemClock, projections }),
  }
}

process.stdout.write(
  '   entries   append/s (in 256s, 4 callers)   append/s (each durable, 64 callers)   inclusion   consistency   verify/s   start\n',
)
for (const size of SIZES) {
  const before = ledger.size()
  const batched = await perSecond(size - before - SINGLY, () => fill(size - SINGLY))
  const single = await perSecond(SINGLY, () => fillSingly(SINGLY, 64))
  await ledger.checkpoint()
  const inclusion = await perSecond(PROOFS, () => prove((seq) => ledger.inclusion(seq)))
  const consistency = await perSecond(PROOFS, () => prove((seq) => ledger.consistency(seq + 1)))
  const verified = await perSecond(size, () => ledger.verify())
  database.close()
  const began = performance.now()
  ;({ database, ledger } = await open())
  if (ledger.state().kind !== 'sound') throw new Error('not sound')
  const startMs = performance.now() - began
  process.stdout.write(
    `${size.toString().padStart(10)}   ${batched.toFixed(0).padStart(29)}   ${single.toFixed(0).padStart(35)}   ${(1_000 / inclusion).toFixed(3).padStart(6)} ms   ${(1_000 / consistency).toFixed(3).padStart(8)} ms   ${verified.toFixed(0).padStart(8)}   ${startMs.toFixed(0).padStart(4)} ms\n`,
  )
}
database.close()
rmSync(folder, { recursive: true })

async function fill(size: number): Promise<void> {
  const caller = async (): Promise<void> => {
    while (ledger.size() < size)
      await database.commit(() => {
        for (let index = 0; index < BATCH && ledger.size() < size; index++) ledger.appendIn(event(index))
      })
  }
  await Promise.all(Array.from({ length: BATCH_CALLERS }, caller))
}

async function fillSingly(count: number, callers: number): Promise<void> {
  let left = count
  const caller = async (): Promise<void> => {
    while (left-- > 0) await ledger.append(event(left))
  }
  await Promise.all(Array.from({ length: callers }, caller))
}

async function prove(make: (seq: number) => { readonly ok: boolean }): Promise<void> {
  for (let index = 0; index < PROOFS; index++)
    if (!make(Math.floor(Math.random() * (ledger.size() - 1))).ok) throw new Error('no proof')
}

function event(index: number): { kind: string; tool: string; index: number; principal: string } {
  return { kind: 'bench.event', tool: 'task_create', index, principal: 'local' }
}

async function perSecond(count: number, work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return (count * 1_000) / (performance.now() - began)
}
