/**
 * Runtime: the audited tool runtime of spec 5 as one service, and the views of ledger and bus beside it.
 *
 *   tasks · trail · proofs · skills · system     over one database and one ledger
 *
 * Reads and writes through its stores.
 */
import type { Capability, Service, ServiceHealth } from '../bus/capability.ts'
import type { RuntimeRecords } from './dependencies.ts'
import { createGuideCapabilities } from './guide.ts'
import { runtimeProjection } from './runtime-state.ts'
import { createSessionStore } from './proofs/session-store.ts'
import { createProofTools } from './proofs/tools.ts'
import { createRandomTools } from './random/tools.ts'
import { Reputation } from './reputation/reputation.ts'
import { createReputationTools } from './reputation/tools.ts'
import { createSkillRegistry } from './skills/registry.ts'
import { createSkillScanner } from './skills/skill-folder-store.ts'
import { createSkillTools } from './skills/tools.ts'
import { createConsensusTools } from './consensus/tools.ts'
import type { ConsensusPeers } from './consensus/tools.ts'
import type { Guard } from '../guard/guard.ts'
import type { AttentionSources } from './system/attention.ts'
import { createBusTools } from './system/bus-tools.ts'
import type { ViewedBus } from './system/bus-tools.ts'
import { createChangeTools } from './system/change-tools.ts'
import type { AskedBus, AskedGuard } from './system/change-tools.ts'
import { checkLedger, worstStatus, checkQueue, toSnakeCase } from './system/health.ts'
import type { HealthCheck, LockQueue } from './system/health.ts'
import { ledgerFacts } from './system/ledger-facts.ts'
import { createExportTools } from './system/export-tools.ts'
import { ledgerProver, createLedgerTools } from './system/ledger-tools.ts'
import { createProbe } from './system/probe-store.ts'
import { createRouterTools } from './system/router-tools.ts'
import type { RoutingBus } from './system/router-tools.ts'
import { createServerTools } from './system/server-tools.ts'
import { createTaskStore } from './tasks/task-store.ts'
import { createTaskTools } from './tasks/tools.ts'
import { createAgentKeyTools } from './trail/agent-key.ts'
import { createThoughtStore } from './trail/thought-store.ts'
import { createTrailTools } from './trail/tools.ts'

export interface RuntimeConfig {
  readonly version: string
  readonly mode: 'full' | 'readonly'
  /** Folders whose sub-folders hold a SKILL.md each. */
  readonly skillRoots: readonly string[]
  /** How often a checkpoint is signed at least. */
  readonly checkpointSeconds: number
  /** Where the database lives; `undefined` for one in memory. */
  readonly dataDirectory: string | undefined
}

export interface RuntimeOptions extends RuntimeRecords {
  readonly config: RuntimeConfig
  /** Of this node's verifiable randomness: 32 bytes. */
  readonly vrfSecret: Uint8Array
  readonly bus: ViewedBus & RoutingBus & AskedBus
  readonly guard: AskedGuard & AttentionSources['guard'] & Pick<Guard, 'quorums' | 'visible' | 'approvals'>
  /** Other nodes, once the mesh has started; absent: there are none. */
  readonly peers?: () => ConsensusPeers | undefined
  /** Everybody else who says how it is; asked each time, since they start one after the other. */
  readonly reporters: AttentionSources['reporters']
  /** Calls that wait for a lock, from the chain. */
  readonly queue: () => LockQueue
}

export function createRuntime(options: RuntimeOptions): Service {
  const { config, queue, bus, guard, reporters, vrfSecret, peers = () => undefined, ...records } = options
  const { database, ledger, clock } = records
  const startedMs = clock.monotonic()
  // The `phase` of server_ping and server_health: phase1 until the service has started.
  let started = false

  const facts = {
    version: config.version,
    mode: config.mode,
    checkpointSeconds: config.checkpointSeconds,
    started: () => started,
    uptimeMs: () => clock.monotonic() - startedMs,
    queue,
    watched: { guard, reporters },
  }
  // Shared: a session's seal and its records are written and checked together, and so are the tasks they are about.
  const state = ledger.projections.state(runtimeProjection)
  const tasks = createTaskStore(database.sql, state)
  const stores = {
    state,
    thoughts: createThoughtStore(database.sql),
    sessions: createSessionStore(database.sql),
    leaves: ledger.leaves,
  }
  const reputation = new Reputation(ledger)
  const skills = createSkillRegistry(records, createSkillScanner(config.skillRoots), state)
  const probe = createProbe(records, config.dataDirectory)
  const standing = (): Readonly<Record<string, HealthCheck>> => ({
    ledger: checkLedger(ledgerFacts(records, config.checkpointSeconds)),
    queue: checkQueue(queue()),
  })
  const capabilities: readonly Capability[] = [
    ...createServerTools(records, facts, probe),
    ...createTrailTools(records, stores),
    ...createSkillTools(skills),
    ...createTaskTools(records, tasks, stores),
    ...createAgentKeyTools(records, state),
    ...createProofTools(records, stores, ledgerProver(ledger)),
    ...createLedgerTools(ledger),
    ...createExportTools(ledger),
    ...createChangeTools(records, bus, guard),
    ...createBusTools(bus, guard),
    ...createRouterTools(records, bus),
    ...createRandomTools(vrfSecret),
    ...createConsensusTools(bus, guard, { peers, vrfSecret }),
    ...createReputationTools(records, reputation),
    ...createGuideCapabilities(),
  ]

  return {
    name: 'runtime',
    // Spec 5 gives its names no prefix.
    prefixes: [''],
    capabilities: () => capabilities,
    start: async () => {
      // What changed while nobody looked goes on record before the first call. A ledger that refuses is no reason not
      // to start: server_health says so.
      if (ledger.state().kind === 'sound') await skills.refresh()
      started = true
    },
    stop: async () => {
      started = false
    },
    // Without waiting for a write: what asks here asks often.
    health: () => healthOf(standing()),
    examine: async () => healthOf({ ...standing(), database: await probe.database(), disk: await probe.disk() }),
  }
}

function healthOf(checks: Readonly<Record<string, HealthCheck>>): ServiceHealth {
  const wrong = Object.values(checks).flatMap(({ status, message }) => (status === 'skipped' ? [] : (message ?? [])))
  return {
    status: worstStatus(Object.values(checks)),
    details: { ...(wrong.length === 0 ? {} : { advice: wrong.join(' ') }), ...toSnakeCase(checks) },
  }
}
