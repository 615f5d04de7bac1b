/**
 * Ledger cuts: a process that writes a ledger is killed again and again, and what was not durable yet is lost, too: tiles
 * and bundles that no checkpoint covers, what the caches held, and part of a group that was being written.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { listSegmentNames, readTailSegments } from '../src/ledger/tail-reader-store.ts'
import { TILE_WIDTH } from '../src/ledger/tile.ts'

const WRITER = fileURLToPath(new URL('ledger-writer.ts', import.meta.url))
/** After so many the ledger begins anew: what it holds is read whole after each start. */
const CUTS_OF_ONE = 25
const LONGEST_MS = 250

export interface LedgerCuts {
  readonly cuts: number
  readonly appended: number
  readonly signed: number
  readonly findings: readonly string[]
}

interface Found {
  readonly findings: readonly string[]
  readonly state: string
  /** Why it refuses. */
  readonly fault?: object
  readonly fork?: string
  readonly ids: readonly string[]
  readonly written: readonly string[]
}

/** What one ledger's callers were told. */
interface Told {
  readonly appended: Set<string>
  signed: string
  signatures: number
}

export async function cutLedger(cuts: number, budgetMs: number): Promise<LedgerCuts> {
  const began = performance.now()
  const total = { cuts: 0, appended: 0, signed: 0, findings: [] as string[] }
  while (total.cuts < cuts && performance.now() - began < budgetMs) {
    const folder = mkdtempSync(join(tmpdir(), 'hearthbus-cuts-'))
    const told: Told = { appended: new Set(), signed: '', signatures: 0 }
    for (let cut = 0; cut <= CUTS_OF_ONE && performance.now() - began < budgetMs; cut++) {
      total.findings.push(...(await startAndCut(folder, told, cut)))
      if (cut < CUTS_OF_ONE) total.cuts += 1
      loseUnsynced(join(folder, 'ledger'))
    }
    total.appended += told.appended.size
    total.signed += told.signatures
    process.stderr.write(`  ${total.cuts} cuts, ${total.findings.length} findings\n`)
    rmSync(folder, { recursive: true })
  }
  return total
}

async function startAndCut(folder: string, told: Told, cut: number): Promise<readonly string[]> {
  const child = spawn(process.execPath, [WRITER, folder, told.signed, String(cut)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  const findings: string[] = []
  let isUp = false
  for await (const line of createInterface({ input: child.stdout })) {
    const [word, rest] = [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)]
    if (word === 'found') {
      findings.push(...judge(JSON.parse(rest) as Found, told))
      isUp = true
      setTimeout(() => child.kill('SIGKILL'), Math.random() * LONGEST_MS)
    }
    if (word === 'refused') findings.push(`a checkpoint was refused: ${rest}`)
    if (word === 'appended') told.appended.add(rest)
    if (word === 'signed' && rest !== told.signed) {
      told.signed = rest
      told.signatures += 1
    }
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'close')
  return isUp ? findings : [`it did not start: ${errors.slice(-400)}`]
}

function judge({ findings, state, fault, fork, ids, written }: Found, told: Told): readonly string[] {
  const counts = new Map<string, number>()
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1)
  const inTable = new Set(written)
  const missing = [...told.appended].filter((id) => !counts.has(id))
  const doubled = [...counts].filter(([, count]) => count > 1).map(([id]) => id)
  const strangers = written.filter((id) => !counts.has(id))
  return [
    ...findings,
    ...(state === 'sound' ? [] : [`it is ${state}: ${JSON.stringify(fault)}`]),
    ...(fork === undefined ? [] : [`the last checkpoint that was given out is not kept: ${fork}`]),
    ...missing.map((id) => `${id} was acknowledged and is missing`),
    ...doubled.map((id) => `${id} is there twice`),
    ...strangers.map((id) => `row ${id} has no entry`),
    ...(inTable.size === written.length ? [] : ['a row is there twice']),
  ]
}

/** What a disk may have lost of what nobody was told: half the time, and different things each time. */
function loseUnsynced(ledger: string): void {
  if (Math.random() < 0.5 || !existsSync(join(ledger, 'checkpoint'))) return
  const signed = Number(readFileSync(join(ledger, 'checkpoint'), 'utf8').split('\n')[1])
  for (const place of ['tile/entries', 'tile/0', 'bodies'])
    for (const name of existsSync(join(ledger, place)) ? readdirSync(join(ledger, place)) : []) {
      const path = join(ledger, place, name)
      const isCovered = (Number(name.slice(0, 3)) + 1) * TILE_WIDTH <= signed
      if (isCovered || statSync(path).isDirectory()) continue
      if (Math.random() < 0.5) rmSync(path)
      else truncateSync(path, Math.floor(Math.random() * statSync(path).size))
    }
  const nodes = join(ledger, 'nodes')
  if (existsSync(nodes)) truncateSync(nodes, Math.floor(Math.random() * statSync(nodes).size))
  for (const name of ['lookup.db', 'lookup.db-wal', 'lookup.db-shm']) rmSync(join(ledger, name), { force: true })
  const newest = readTailSegments(join(ledger, 'tail'), undefined).segments.at(-1)
  const newestName = listSegmentNames(join(ledger, 'tail')).at(-1)
  // A file whose head was not written yet: the segment before it is closed, and no group is being written anywhere.
  if (newest === undefined || newestName === undefined || !newest.path.endsWith(newestName)) return
  // A group that was begun: its first bytes, or some of its sectors.
  const torn = Buffer.alloc(1 + Math.floor(Math.random() * 5_000))
  torn.write('HBG1\0\0\u0003')
  const file = openSync(newest.path, 'r+')
  writeSync(file, torn, 0, torn.length, newest.whole)
  closeSync(file)
}
