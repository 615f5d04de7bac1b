/**
 * Guard house: a real database on disk, a log that writes into it, one offer of each effect, and something to drive.
 */
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Call, Caller, Outcome } from '../src/bus/call.ts'
import type { NextHandler } from '../src/bus/call-pipeline.ts'
import type { CallAssessment, Effect, FamilyEnvelope, Offer } from '../src/bus/capability.ts'
import { createDispatchStage } from '../src/call/dispatch.ts'
import { manualClock } from './manual-clock.ts'
import type { ManualClock } from './manual-clock.ts'
import { plainOffer } from './plain-offer.ts'
import type { OfferFacts } from './plain-offer.ts'
import { LOG_TABLE, tableLog } from './table-log.ts'
import { createHash } from 'node:crypto'
import { toBase64url, fromHex } from '../src/core/bytes.ts'
import type { NodeVoterIdentity } from '../src/guard/quorum-voters.ts'
import { createRandomDrawKey } from '../src/ledger/random-draw.ts'
import { deriveVoterPublicKey } from '../src/guard/vote.ts'
import { Database } from '../src/core/database-store.ts'
import type { Json, JsonObject } from '../src/core/json.ts'
import { ok } from '../src/core/result.ts'
import type { GuardConfig } from '../src/guard/config.ts'
import { createGuard } from '../src/guard/guard.ts'
import type { Guard } from '../src/guard/guard.ts'
import { guardProjection } from '../src/guard/guard-state.ts'
import type { GuardState } from '../src/guard/guard-state.ts'
import { guardMigrations } from '../src/guard/guard-secret-store.ts'
import type { LedgerEvent } from '../src/ledger/entry.ts'
import type { ProjectionLogWriter } from '../src/ledger/projection-log.ts'

export const HOUSE_SEED = '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60'
export const MEMBER_SEED = '4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb'

export function nodeIdOf(seed: string): string {
  return `ed25519:${toBase64url(fromHex(deriveVoterPublicKey(fromHex(seed))))}`
}

export const AGENT: Caller & { readonly kind: 'principal' } = { kind: 'principal', id: 'claude', role: 'agent' }
export const APPROVER: Caller & { readonly kind: 'principal' } = { kind: 'principal', id: 'anna', role: 'approver' }
export const ADMIN: Caller = { kind: 'principal', id: 'owner', role: 'admin' }
export const OBSERVER: Caller = { kind: 'principal', id: 'screen', role: 'observer' }

/** Generous: a test that is about limits names its own. */
export const GUARD_CONFIG: GuardConfig = {
  mode: 'full',
  ownerRules: [],
  limits: {
    calls: { perMinute: 100_000, burst: 100_000 },
    effects: {},
    actuator: { minIntervalMs: 0, writesPerDay: 100_000 },
    maxTracked: 1_000,
    maxRestWaitMs: 0,
  },
  approvals: { openMs: 600_000, useMs: 300_000, disputeMs: 3_600_000, maxOpen: 20, maxOpenPerPrincipal: 10 },
  changes: { maxPrepared: 200, maxPreparedPerPrincipal: 50 },
  keys: { ttlMs: 86_400_000, maxKeys: 1_000, maxKeysPerPrincipal: 200, maxOutcomeBytes: 4_096 },
}

/** A node with the key of RFC 8032's first test, whose one other member has the second. */
export const TEST_VOTING: NodeVoterIdentity = {
  house: nodeIdOf(HOUSE_SEED),
  epoch: () => 7,
  personSeed: (credential) => new Uint8Array(createHash('sha256').update(credential).digest()),
  nodeSeed: fromHex(HOUSE_SEED),
  member: (which) => [HOUSE_SEED, MEMBER_SEED].map(nodeIdOf).find((id) => id === which),
  witnesses: () => [],
  draws: createRandomDrawKey(nodeIdOf(HOUSE_SEED), fromHex(HOUSE_SEED)),
}

interface LoggedEvent {
  readonly seq: number
  readonly kind: string
  readonly [field: string]: Json
}

export interface GuardHouse {
  readonly clock: ManualClock
  readonly database: Database
  readonly log: ProjectionLogWriter
  /** What the guard decides from. */
  readonly state: GuardState
  readonly guard: Guard
  /** What the log says, oldest first. */
  readonly events: (prefix?: string) => readonly LoggedEvent[]
  /** Everything that is written anywhere on the disk, as one text. */
  readonly everything: () => string
  /** The house as it would be found after the power went out now: a copy of the files, opened anew. */
  readonly afterPowerCut: (config?: Partial<GuardConfig>) => GuardHouse
  readonly close: () => void
}

/** Closes on its own at the end of the block: `using house = openHouse()`. */
export function openHouse(
  config: Partial<GuardConfig> = {},
  sleep?: (ms: number, clock: ManualClock, signal: AbortSignal) => Promise<void>,
  approvers = APPROVERS,
  voting = TEST_VOTING,
): GuardHouse & Disposable {
  const directory = mkdtempSync(join(tmpdir(), 'hearthbus-guard-'))
  const clock = manualClock()
  const opened: Database[] = []
  const open = (path: string, settings: Partial<GuardConfig>): GuardHouse => {
    const database = new Database({ path, migrations: [guardMigrations, LOG_TABLE] })
    opened.push(database)
    const log = tableLog(database, clock, approvers.map(introduction))
    const guard = createGuard({
      database,
      log,
      clock,
      config: { ...GUARD_CONFIG, ...settings },
      voting,
      ...(sleep === undefined ? {} : { sleep: (ms, signal) => sleep(ms, clock, signal) }),
    })
    return {
      clock,
      database,
      log,
      state: log.projections.state(guardProjection),
      guard,
      events: (prefix = '') => readEvents(database).filter(({ kind }) => kind.startsWith(prefix)),
      everything: () => dump(database),
      afterPowerCut: (next = settings) => {
        const copy = join(directory, `copy-${opened.length}.db`)
        for (const suffix of ['', '-wal']) if (existsSync(path + suffix)) copyFileSync(path + suffix, copy + suffix)
        return open(copy, next)
      },
      close: () => database.close(),
    }
  }
  const house = open(join(directory, 'house.db'), config)
  return {
    ...house,
    [Symbol.dispose]: () => {
      for (const database of opened) database.close()
      rmSync(directory, { recursive: true })
    },
  }
}

/** The dispatch stage alone: a call that is validated, decided about and, if it may, driven. */
export async function around(guard: Guard, call: Call, offer: Offer, execute: NextHandler): Promise<Outcome> {
  const stage = createDispatchStage({
    decision: guard.steps,
    monotonic: () => performance.now(),
    report: () => undefined,
  })
  return stage({ call, offer, execute }, ({ outcome }) => {
    if (outcome === undefined) throw new Error('nobody dispatched the call')
    return Promise.resolve(outcome)
  })
}

/** Those of the tests who decide were let in before the first call. */
const APPROVERS = ['anna', 'narrow']

function introduction(name: string): LedgerEvent {
  return { kind: 'token.created', name, role: 'approver', token_hash: name, by: 'owner' }
}

/** Something that can be driven, and remembers how often. */
export interface Actuator {
  readonly proceed: (call: Call) => Promise<Outcome>
  readonly calls: Call[]
}

export function actuator(answer: (call: Call) => Outcome | Promise<Outcome> = () => ok({ data: 'done' })): Actuator {
  const calls: Call[] = []
  return {
    calls,
    proceed: async (call) => {
      calls.push(call)
      return answer(call)
    },
  }
}

const plain: FamilyEnvelope = {
  name: 'test',
  success: (data) => data,
  failure: (fault) => ({ structured: { message: fault.message }, isError: true }),
  outputSchema: () => ({ type: 'object' }),
}

export function offerOf(effect: Effect, more: Partial<OfferFacts> = {}): Offer {
  return plainOffer({ name: `test.${effect}`, effect, family: plain, ...more })
}

/** An offer whose arguments say what it would do, as a family's do. */
export function assessedOffer(
  effect: Effect,
  assess: (body: JsonObject) => Partial<CallAssessment>,
): Offer & Required<Pick<Offer, 'plan'>> {
  const offer = offerOf(effect, { assess: ({ body }) => ({ effect, reasons: [], ...assess(body) }) })
  return { ...offer, plan: offer.plan ?? expect.unreachable() }
}

export function callOf(offer: Pick<Offer, 'name'>, body: JsonObject = {}, more: Partial<Call> = {}): Call {
  return {
    capability: offer.name,
    versionReq: [1, 0],
    body,
    caller: AGENT,
    channel: 'mcp-http',
    traceId: '01K00000000000000000000000',
    deadlineMs: Infinity,
    isStream: false,
    signal: new AbortController().signal,
    hopBudget: 0,
    rehearsal: false,
    heldLocks: [],
    ...more,
  }
}

function readEvents(database: Database): readonly LoggedEvent[] {
  return database.sql
    .prepare('SELECT seq, event FROM test_event WHERE seq > 0 ORDER BY seq')
    .all()
    .map((row) => ({ ...(JSON.parse(String(row['event'])) as LoggedEvent), seq: Number(row['seq']) }))
}

function dump(database: Database): string {
  const tables = database.sql.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`).all()
  const rows = tables.flatMap(({ name }) => database.sql.prepare(`SELECT * FROM "${String(name)}"`).all())
  return rows
    .flatMap((row) => Object.values(row))
    .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)))
    .join('\n')
}
