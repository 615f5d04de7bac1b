/**
 * Reputation computed twice: by the gateway, and by `examples/reputation.py`, which was written from
 * docs/protocols/reputation.md in another language and with nothing but that language's standard library.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import type { Caller } from '../src/bus/call.ts'
import type { JsonObject } from '../src/core/json.ts'
import { canonicalJson } from '../src/core/json.ts'
import type { LedgerEntry, StoredEntry } from '../src/ledger/entry.ts'
import { REPUTATION_DOMAINS } from '../src/runtime/reputation/formula.ts'
import { Reputation } from '../src/runtime/reputation/reputation.ts'
import { runtimeRig } from './runtime-rig.ts'

const SCRIPT = fileURLToPath(new URL('../examples/reputation.py', import.meta.url))
const SECOND_READING = fileURLToPath(new URL('./second-reading.py', import.meta.url))
const hasPython = spawnSync('python3', ['--version']).status === 0
if (!hasPython) process.stderr.write('NOT RUN: examples/reputation.py, because there is no python3 on this machine\n')

const folder = mkdtempSync(join(tmpdir(), 'hearthbus-reputation-'))
afterAll(() => rmSync(folder, { recursive: true }))

interface Recomputed {
  readonly formula_hash: string
  readonly as_of_size: number
  readonly epoch: number
  readonly subjects: Readonly<
    Record<string, { readonly gates: JsonObject; readonly rows: Readonly<Record<string, JsonObject>> }>
  >
}

interface SecondReadingRow {
  readonly node_id: string
  readonly domain: (typeof REPUTATION_DOMAINS)[number]
  readonly score: number
  readonly scar: number
  readonly ban: number
  readonly last: number
  readonly events: readonly unknown[]
}

function recompute(exported: string, ...more: readonly string[]): Recomputed {
  const { status, stdout, stderr } = spawnSync('python3', [SCRIPT, exported, ...more], {
    encoding: 'utf8',
    maxBuffer: 64_000_000,
  })
  if (status !== 0) throw new Error(stderr)
  return JSON.parse(stdout) as Recomputed
}

/** Entries as C2SP tlog-tiles stores them: bundles of 256, each entry behind its length in two bytes. */
function writeExport(name: string, entries: readonly LedgerEntry[]): string {
  const place = join(folder, name)
  mkdirSync(join(place, 'tile', 'entries'), { recursive: true })
  writeFileSync(join(place, 'checkpoint'), `example.org/log\n${entries.length}\nAAAA\n\n— none\n`)
  for (let from = 0; from < entries.length; from += 256) {
    const bundle = entries.slice(from, from + 256).map((entry) => {
      const bytes = Buffer.from(canonicalJson(entry))
      const length = Buffer.alloc(2)
      length.writeUInt16BE(bytes.length)
      return Buffer.concat([length, bytes])
    })
    const path = join(place, 'tile', 'entries', String(from / 256).padStart(3, '0'))
    if (bundle.length < 256) mkdirSync(`${path}.p`)
    writeFileSync(bundle.length < 256 ? join(`${path}.p`, String(bundle.length)) : path, Buffer.concat(bundle))
  }
  return place
}

/** Numerical Recipes' generator: the same history on every run. */
function generator(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

function randomHistory(seed: number, length: number): readonly LedgerEntry[] {
  const below = generator(seed)
  const one = <Value>(values: readonly Value[]): Value => values[below(values.length)] as Value
  const who = (): string =>
    one(['claude', 'local', 'service:history', 'peer:ed25519:aa', 'peer:ed25519:aa/bob', 'ändi'])
  const target = (): string | undefined => one(['homeseer:ref:1', 'device:lamp', 'ebus:main:hc0/x', undefined])
  const maybe = (field: string, value: unknown): JsonObject =>
    value === undefined ? {} : ({ [field]: value } as JsonObject)
  const open: number[] = []
  const ended: number[] = []
  let atMs = Date.UTC(2026, 0, 1)
  return Array.from({ length }, (_, seq): LedgerEntry => {
    // Mostly forward, sometimes back, sometimes by months.
    atMs += one([1, 60_000, 3_600_000, 3_600_000, -7_200_000, below(50) === 0 ? 9e9 : 1])
    const event = (): JsonObject & { kind: string } => {
      switch (below(12)) {
        case 0:
        case 1:
        case 2:
        case 3:
          open.push(seq)
          return {
            kind: 'call.enter',
            tool: one(['a', 'b']),
            principal: who(),
            ...maybe('effect', one(['writes', 'sensitive', 'admin', 'records', 'reads', undefined])),
          }
        case 4:
        case 5:
        case 6:
        case 7: {
          const call = open.splice(below(open.length), 1)[0] ?? 0
          ended.push(call)
          const isOk = below(2) === 0
          return {
            kind: 'call.exit',
            call,
            outcome: isOk ? 'ok' : 'error',
            ...(isOk
              ? {}
              : maybe(
                  'fault',
                  one([
                    'failed',
                    'timed-out',
                    'offline',
                    'unknown-outcome',
                    'not-permitted',
                    'conflict',
                    'invalid-arguments',
                  ]),
                )),
            ...maybe('target', target()),
            ...maybe('effect', one([undefined, undefined, 'writes', 'reads'])),
            ...maybe('dry_run', one([undefined, undefined, undefined, true])),
            ...maybe('replayed', one([undefined, undefined, undefined, true])),
          }
        }
        case 8:
          return { kind: 'call.outcome', call: one([...ended.slice(-5), 0]), outcome: one(['reached', 'not-reached']) }
        case 9:
          return {
            kind: one(['approval.approved', 'approval.denied']),
            approval: 'x',
            principal: who(),
            by: one(['owner', 'eva', 'quorum']),
          }
        case 10:
          return one<JsonObject & { kind: string }>([
            { kind: 'device.tools.withheld', device: 'lamp' },
            { kind: 'device.tools.approved', device: 'lamp' },
            { kind: 'token.created', name: 'x', by: 'owner' },
            { kind: 'stop.engaged', by: 'peer:ed25519:bb' },
            { kind: 'call.aborted', call: open.splice(0, 1)[0] ?? 0 },
          ])
        default:
          return one<JsonObject & { kind: string }>([
            { kind: 'consensus.voted', approval: 'r', voter: one(['eva', 'node:ed25519:aa']) },
            { kind: 'consensus.equivocated', approval: one(['r', 's', 't']), voter: one(['eva', 'node:ed25519:aa']) },
            { kind: 'community.forked', signer: 'ed25519:bb', number: 1 },
            { kind: 'thought', task_id: 'T' },
          ])
      }
    }
    return { v: 1, seq, at: new Date(atMs).toISOString(), ...event() }
  })
}

function readAll(entries: readonly LedgerEntry[]): Reputation {
  const ledger = {
    size: () => entries.length,
    entries: (from: number, limit: number) =>
      entries.slice(from, from + limit).map((entry) => ({ entry }) as unknown as StoredEntry),
  }
  const reputation = new Reputation(ledger)
  for (const _ of reputation.catchUp(entries.length));
  return reputation
}

describe.skipIf(!hasPython)('an independent implementation of the reputation document', () => {
  it.each([1, 2, 3])('agrees exactly over 20,000 random entries, seed %i', (seed) => {
    const { status, stdout, stderr } = spawnSync('python3', [SECOND_READING, String(seed), '20000'], {
      encoding: 'utf8',
      maxBuffer: 64_000_000,
    })
    expect([status, stderr]).toEqual([0, ''])
    const { epoch, entries, rows } = JSON.parse(stdout) as {
      readonly epoch: number
      readonly entries: readonly LedgerEntry[]
      readonly rows: readonly SecondReadingRow[]
    }
    const reputation = readAll(entries)
    expect(reputation.epoch).toBe(epoch)
    let compared = 0
    for (const { node_id, domain, score, scar, ban, last, events } of rows) {
      expect(reputation.row(node_id, domain)).toEqual({
        node_id,
        domain,
        score,
        scar_bps: scar,
        ban_until_epoch: ban,
        last_activity_epoch: last,
      })
      const own = reputation.events(node_id, domain).events.toReversed()
      const told = own.map(({ logIndex, rule, delta, scoreAfter }) => [logIndex, rule, delta, scoreAfter])
      // Of very long histories the gateway keeps the newest events.
      expect(told).toEqual(events.slice(-told.length))
      compared += told.length
    }
    expect(REPUTATION_DOMAINS.flatMap((domain) => reputation.leaderboard(domain))).toHaveLength(rows.length)
    expect(compared).toBeGreaterThan(5_000)
  })
})

describe.skipIf(!hasPython)('examples/reputation.py', () => {
  it.each([1, 2, 3])('agrees exactly in every row and event, history %i', (seed) => {
    const entries = randomHistory(seed, 4_000)
    const reputation = readAll(entries)
    const told = recompute(writeExport(`history-${seed}`, entries))
    expect([told.as_of_size, told.epoch]).toEqual([reputation.size, reputation.epoch])
    let compared = 0
    for (const [subject, { rows }] of Object.entries(told.subjects))
      for (const [domain, { events, ...row }] of Object.entries(rows)) {
        const name = domain as (typeof REPUTATION_DOMAINS)[number]
        expect(reputation.row(subject, name)).toEqual({ node_id: subject, domain, ...row })
        const own = reputation.events(subject, name).events.toReversed()
        expect(own.map(({ logIndex, rule, delta, scoreAfter }) => [logIndex, rule, delta, scoreAfter])).toEqual(events)
        compared += own.length
      }
    expect(compared).toBeGreaterThan(1_000)
    const known = REPUTATION_DOMAINS.flatMap((domain) => reputation.leaderboard(domain))
    const theirs = Object.values(told.subjects).flatMap(({ rows }) => Object.keys(rows))
    expect(known).toHaveLength(theirs.length)
    for (const domain of REPUTATION_DOMAINS) {
      const ranking = Object.entries(told.subjects)
        .flatMap(([subject, { rows }]) =>
          rows[domain] === undefined ? [] : [[subject, Number(rows[domain]['score'])] as const],
        )
        .toSorted((one, other) => other[1] - one[1] || (one[0] < other[0] ? -1 : 1))
      expect(reputation.leaderboard(domain).map(({ node_id: id, score }) => [id, score])).toEqual(ranking)
    }
  })

  it('agrees with the tools over the export of a real ledger, at the size that an answer names', async () => {
    const rig = await runtimeRig()
    const observer: Caller = { kind: 'principal', id: 'eva', role: 'observer' }
    await rig.through('task_create', { title: 'x' })
    await rig.through('task_create', { colour: 'red' })
    for (const _ of [1, 2, 3]) await rig.through('task_create', { title: 'x' }, { caller: observer })
    rig.clock.advance(3 * 86_400_000)
    await rig.through('task_create', { title: 'y' })
    const first = await rig.through('reputation_leaderboard', { domain: 'execution' })
    if (!first.ok) throw new Error(first.fault.message)
    const {
      as_of_size: size,
      rows,
      formula_hash: hash,
    } = first.value.data as unknown as {
      readonly as_of_size: number
      readonly formula_hash: string
      readonly rows: readonly (JsonObject & { readonly node_id: string })[]
    }
    await rig.through('task_create', { title: 'not counted then' })
    await rig.ledger.exportTo(join(folder, 'real'))
    const told = recompute(join(folder, 'real'), '--size', String(size))
    expect(told).toMatchObject({ formula_hash: hash, as_of_size: size })
    // By hand: 5000 + 20 − 20 = 5000, then 20 more; 5000 − 100 − 300 − 300 = 4300, whose 700 shrink by a twentieth three
    // times, rounded down: 665, 631, 599.
    expect(rows.map(({ node_id: id, score }) => [id, score])).toEqual([
      ['agent:tester', 5_020],
      ['agent:eva', 4_401],
    ])
    for (const { node_id: id, domain: _, ...row } of rows) {
      const { events: _events, ...theirs } = told.subjects[id]?.rows['execution'] ?? {}
      expect(theirs).toEqual(row)
    }
    const gates = await rig.through('reputation_check_gates', { node_id: 'agent:eva' })
    expect(gates).toMatchObject({ value: { data: { gates: told.subjects['agent:eva']?.gates } } })
    rig.close()
  })
})
