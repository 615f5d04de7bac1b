/**
 * Runtime rig: the runtime on a real database and a real ledger in a folder of its own, called as the chain calls it:
 * arguments through the offer's own check, the outcome through the family's envelope, the answer against its schema.
 */
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { DEFAULT_BUS_CONFIG } from '../src/bus/bus-config.ts'
import type { CapabilityBus } from '../src/bus/bus.ts'
import type { CallOptions } from '../src/bus/call-factory.ts'
import type { Call, Outcome } from '../src/bus/call.ts'
import type { Capability, Offer, Service } from '../src/bus/capability.ts'
import { openGuardedBus } from '../src/call/guarded-bus.ts'
import { editTail, zeroBodies } from './ledger-attack.ts'
import { manualClock } from './manual-clock.ts'
import type { ManualClock } from './manual-clock.ts'
import { Database } from '../src/core/database-store.ts'
import type { Json, JsonObject } from '../src/core/json.ts'
import { silentLogger } from '../src/core/logger.ts'
import type { Guard } from '../src/guard/guard.ts'
import { guardProjection } from '../src/guard/guard-state.ts'
import { guardMigrations } from '../src/guard/guard-secret-store.ts'
import { createRandomDrawKey } from '../src/ledger/random-draw.ts'
import { Ledger } from '../src/ledger/ledger.ts'
import { ledgerMigrations } from '../src/ledger/ledger-tables-store.ts'
import { createLogSigner } from '../src/ledger/note-key.ts'
import { runtimeEntryTables } from '../src/runtime/runtime-cache-store.ts'
import { runtimeProjection } from '../src/runtime/runtime-state.ts'
import { runtimeMigrations } from '../src/runtime/migrations.ts'
import type { ServiceHealthSource } from '../src/runtime/system/attention.ts'
import { createAuditedRuntimeService } from '../src/runtime/runtime.ts'
import type { RuntimeConfig } from '../src/runtime/runtime.ts'
import { GUARD_CONFIG, TEST_VOTING } from './guard-house.ts'

const ORIGIN = 'hearthbus.test/runtime'
const { privateKey } = generateKeyPairSync('ed25519')
const TESTER: CallOptions = { caller: { kind: 'principal', id: 'tester', role: 'agent' }, channel: 'api' }

interface Answer {
  readonly structured: { readonly ok: boolean; readonly data?: JsonObject; readonly error?: JsonObject }
  readonly isError: boolean
}

export interface Rig {
  readonly folder: string
  readonly database: Database
  readonly ledger: Ledger
  readonly clock: ManualClock
  readonly service: Service
  /** With the whole chain: lock, validation, audit, guard. */
  readonly bus: CapabilityBus
  readonly guard: Guard
  readonly through: (name: string, args?: JsonObject, options?: Partial<CallOptions>) => Promise<Outcome>
  /** What a client sees. */
  readonly answer: (name: string, args?: JsonObject, call?: Partial<Call>) => Promise<Answer>
  /** The data of a call that succeeds; throws what a client would see otherwise. */
  readonly data: (name: string, args?: JsonObject, call?: Partial<Call>) => Promise<Record<string, unknown>>
  /** The error of a call that fails, whichever pattern it is in. */
  readonly error: (name: string, args?: JsonObject, call?: Partial<Call>) => Promise<Record<string, unknown>>
  /** What somebody with the file and an editor can do: triggers are no obstacle. */
  readonly tamper: (sql: string) => void
  /** The same for the log: other words of the same length. */
  readonly tamperLog: (text: string, other: string) => void
  /** And for what stands beside the entries. */
  readonly loseBodies: () => void
  readonly entries: (kind: string) => readonly JsonObject[]
  readonly close: () => void
}

export interface RigOptions {
  readonly folder?: string
  readonly config?: Partial<RuntimeConfig>
  readonly waiting?: () => number
  readonly reporters?: () => readonly ServiceHealthSource[]
}

export async function runtimeRig(options: RigOptions = {}): Promise<Rig> {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'hearthbus-runtime-'))
  const clock = manualClock()
  const database = new Database({
    path: join(folder, 'node.db'),
    migrations: [ledgerMigrations, guardMigrations, runtimeMigrations],
  })
  const signer = createLogSigner(ORIGIN, privateKey)
  const ledger = await Ledger.open({
    database,
    signer,
    clock,
    origin: ORIGIN,
    lastSignedPath: join(folder, 'signed'),
    caches: [runtimeEntryTables],
    projections: [guardProjection, runtimeProjection],
  })
  const { bus, guard } = await openGuardedBus({
    database,
    ledger,
    clock,
    logger: silentLogger,
    guard: { ...GUARD_CONFIG, mode: options.config?.mode ?? 'full' },
    voting: TEST_VOTING,
    bus: { nodeId: 'node-a', config: DEFAULT_BUS_CONFIG },
  })
  const service = createAuditedRuntimeService({
    vrfSecret: new Uint8Array(32).fill(7),
    draws: createRandomDrawKey('rig', new Uint8Array(32).fill(7)),
    database,
    ledger,
    clock,
    bus,
    guard,
    reporters: options.reporters ?? (() => []),
    config: {
      version: '9.9.9',
      mode: 'full',
      skillRoots: [],
      checkpointSeconds: 60,
      dataDirectory: folder,
      ...options.config,
    },
    queue: () => ({ waiting: options.waiting?.() ?? 0, limit: 64 }),
  })
  const registered = bus.registerService(service)
  if (!registered.ok) throw new Error(registered.fault.message)
  await service.start()

  const answer: Rig['answer'] = async (name, args = {}, call = {}) =>
    envelope({ capability: find(service, name), bus }, args, call)
  return {
    folder,
    database,
    ledger,
    clock,
    service,
    bus,
    guard,
    through: (name, args = {}, call = {}) => bus.call(name, undefined, args, { ...TESTER, ...call }),
    answer,
    data: async (name, args, call) => {
      const { structured } = await answer(name, args, call)
      if (!structured.ok || structured.data?.['ok'] === false)
        throw new Error(`${name} failed: ${JSON.stringify(structured)}`)
      return structured.data ?? {}
    },
    error: async (name, args, call) => {
      const { structured } = await answer(name, args, call)
      const error = structured.error ?? structured.data?.['error']
      if (error === undefined) throw new Error(`${name} succeeded: ${JSON.stringify(structured)}`)
      return error as JsonObject
    },
    tamper: (sql) => {
      const triggers = database.sql.prepare(`SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'`).all()
      for (const { name } of triggers) database.sql.exec(`DROP TRIGGER ${String(name)}`)
      database.sql.exec(sql)
      for (const trigger of triggers) database.sql.exec(String(trigger['sql']))
    },
    tamperLog: (text, other) => editTail(join(folder, 'ledger'), text, other),
    loseBodies: () => zeroBodies(join(folder, 'ledger')),
    entries: (kind) =>
      ledger
        .entries(0, ledger.size())
        .map(({ entry }) => entry)
        .filter((entry) => entry.kind === kind),
    close: () => {
      bus.close()
      database.close()
      if (options.folder === undefined) rmSync(folder, { recursive: true })
    },
  }
}

function callOf(name: string, body: JsonObject, call: Partial<Call> = {}): Call {
  return {
    capability: name,
    versionReq: [1, 0],
    body,
    ...TESTER,
    traceId: '01K9Z3N8QK6R3M0V6V5A8B4C2D',
    deadlineMs: Number.MAX_SAFE_INTEGER,
    isStream: false,
    signal: new AbortController().signal,
    hopBudget: 0,
    rehearsal: false,
    heldLocks: [],
    ...call,
  }
}

interface Answering {
  readonly capability: Capability
  readonly bus: CapabilityBus
}

async function envelope({ capability, bus }: Answering, args: JsonObject, call: Partial<Call>): Promise<Answer> {
  const { offer } = capability
  // A change is planned before it is carried out, and calls on: that takes the bus.
  const outcome =
    offer.effect === 'writes'
      ? await bus.call(offer.name, undefined, args, { ...TESTER, ...call })
      : await run(capability, args, call)
  const { structured, isError } = outcome.ok
    ? { structured: offer.family.success(outcome.value.data, offer), isError: false }
    : offer.family.failure(outcome.fault, offer)
  checkShape(offer, structured)
  // What travels is JSON: anything else would be lost on the way.
  return { structured: JSON.parse(JSON.stringify(structured)) as Answer['structured'], isError }
}

async function run(capability: Capability, args: JsonObject, call: Partial<Call>): Promise<Outcome> {
  const { offer } = capability
  const accepted = offer.accept?.(args)
  if (accepted?.ok === false) {
    const issues = accepted.fault.map((issue) => ({ ...issue, path: [...issue.path] }))
    return { ok: false, fault: { kind: 'invalid-arguments', message: 'invalid', details: { issues } } }
  }
  if (!('handle' in capability)) throw new Error(`${offer.name} streams`)
  try {
    return await capability.handle(callOf(offer.name, accepted?.value ?? args, call))
  } catch (error) {
    return { ok: false, fault: { kind: 'internal', message: error instanceof Error ? error.message : String(error) } }
  }
}

function find(service: Service, name: string): Capability {
  const found = service.capabilities().find(({ offer }) => offer.name === name)
  if (found === undefined) throw new Error(`no tool ${name}`)
  return found
}

const ajv = new Ajv2020({ strict: false })
const validators = new Map<string, ReturnType<typeof ajv.compile>>()

function checkShape(offer: Offer, structured: Json): void {
  const known = validators.get(offer.name) ?? ajv.compile(offer.family.outputSchema?.(offer) ?? {})
  validators.set(offer.name, known)
  if (!known(structured)) throw new Error(`${offer.name} breaks its output schema: ${ajv.errorsText(known.errors)}`)
}
