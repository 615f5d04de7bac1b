/**
 * Runtime: the audited tool runtime of spec 5 as one service, and the views of ledger and bus beside it.
 *
 *   tasks · trail · proofs · skills · system     over one database and one ledger
 */
import type { Capability, Service, ServiceHealth } from '../bus/capability.ts'
import type { RandomDrawKey } from '../ledger/random-draw.ts'
import type { RuntimeRecordDependencies } from './runtime-dependencies.ts'
import { createGuideResources } from './guide-resources.ts'
import { runtimeProjection } from './runtime-state.ts'
import { createAuditSessionReader } from './trail/audit-session-reader-store.ts'
import { createAuditSessionTools } from './proofs/audit-session-tools.ts'
import { createVrfTools } from './random/vrf-tools.ts'
import { Reputation } from './reputation/reputation.ts'
import { createReputationTools } from './reputation/tools.ts'
import { createSkillRegistry } from './skills/registry.ts'
import { createSkillScanner } from './skills/skill-folder-store.ts'
import { createSkillTools } from './skills/skill-read-tools.ts'
import { createConsensusTools } from './consensus/tools.ts'
import type { ConsensusPeerService } from './consensus/tools.ts'
import type { Guard } from '../guard/guard.ts'
import type { AttentionSources } from './system/attention.ts'
import { createBusInspectionTools } from './system/bus-tools.ts'
import type { InspectionToolsBus } from './system/bus-tools.ts'
import { createLedgerChangesTool } from './system/ledger-changes-tool.ts'
import type { LedgerChangesToolBus, LedgerChangesToolGuard } from './system/ledger-changes-tool.ts'
import { checkLedger, findWorstStatus, checkLockQueue, toHealthChecksJson } from './system/health-checks.ts'
import type { HealthCheckResult, LockQueueFacts } from './system/health-checks.ts'
import { gatherLedgerHealthFacts } from './system/ledger-facts.ts'
import { createAuditExportTool } from './system/audit-export-tool.ts'
import { createCheckpointProofSource, createLedgerTools } from './system/ledger-tools.ts'
import { createDatabaseHealthProbe } from './system/database-probe-store.ts'
import { createBusRouterTools } from './system/router-tools.ts'
import type { RouterToolsBus } from './system/router-tools.ts'
import { createServerTools } from './system/server-tools.ts'
import { createTaskReader } from './tasks/task-reader-store.ts'
import { createTaskTools } from './tasks/tools.ts'
import { createAgentKeyTools } from './trail/agent-key-tools.ts'
import { createThoughtReader } from './trail/thought-reader-store.ts'
import { createThoughtTrailTools } from './trail/thought-tools.ts'

export interface RuntimeConfig {
  readonly version: string
  readonly mode: 'full' | 'readonly'
  /** Folders whose sub-folders contain a SKILL.md each. */
  readonly skillRoots: readonly string[]
  /** How often a checkpoint is signed at least, in seconds. */
  readonly checkpointSeconds: number
  /** Where the database lives; `undefined` for one in memory. */
  readonly dataDirectory: string | undefined
}

export interface RuntimeOptions extends RuntimeRecordDependencies {
  readonly config: RuntimeConfig
  /** The secret of this node's verifiable randomness: 32 bytes. */
  readonly vrfSecret: Uint8Array
  /** The key for draws in this node's own name, made from the same secret. */
  readonly draws: RandomDrawKey
  readonly bus: InspectionToolsBus & RouterToolsBus & LedgerChangesToolBus
  readonly guard: LedgerChangesToolGuard & AttentionSources['guard'] & Pick<Guard, 'quorums' | 'visible' | 'approvals'>
  /** Other nodes, once the mesh has started; absent: there are none. */
  readonly peers?: () => ConsensusPeerService | undefined
  /** Other parts that report their health; called each time, since they start one after the other. */
  readonly reporters: AttentionSources['reporters']
  /** How many calls wait for a lock, from the chain. */
  readonly queue: () => LockQueueFacts
}

export function createAuditedRuntimeService(options: RuntimeOptions): Service {
  const { config, queue, bus, guard, reporters, draws, vrfSecret, peers = () => undefined, ...records } = options
  const { database, ledger, clock } = records
  const startedMs = clock.monotonic()
  // The `phase` of server_ping and server_health: phase1 until the service has started.
  let started = false

  const checks = (): { readonly ledger: HealthCheckResult; readonly queue: HealthCheckResult } => ({
    ledger: checkLedger(gatherLedgerHealthFacts(records, config.checkpointSeconds)),
    queue: checkLockQueue(queue()),
  })
  const facts = {
    version: config.version,
    mode: config.mode,
    started: () => started,
    uptimeMs: () => clock.monotonic() - startedMs,
    checks,
    watched: { guard, reporters },
  }
  // One state for all parts: a session's seal, its records and their tasks are written and checked together.
  const state = ledger.projections.state(runtimeProjection)
  const tasks = createTaskReader(database.sql, state)
  const stores = {
    state,
    thoughts: createThoughtReader(database.sql),
    sessions: createAuditSessionReader(database.sql),
    leaves: ledger.leaves,
  }
  const reputation = new Reputation(ledger)
  const skills = createSkillRegistry(records, createSkillScanner(config.skillRoots), state)
  const probe = createDatabaseHealthProbe(records, config.dataDirectory)
  const capabilities: readonly Capability[] = [
    ...createServerTools(records, facts, probe),
    ...createThoughtTrailTools(records, stores),
    ...createSkillTools(skills),
    ...createTaskTools(records, tasks, stores),
    ...createAgentKeyTools(records, state),
    ...createAuditSessionTools(records, stores, createCheckpointProofSource(ledger)),
    ...createLedgerTools(ledger, draws),
    ...createAuditExportTool(ledger),
    ...createLedgerChangesTool(records, bus, guard),
    ...createBusInspectionTools(bus, guard),
    ...createBusRouterTools(records, bus),
    ...createVrfTools(vrfSecret),
    ...createConsensusTools(bus, guard, { peers, draws }),
    ...createReputationTools(records, reputation),
    ...createGuideResources(),
  ]

  return {
    name: 'runtime',
    // Spec 5 gives its names no prefix.
    prefixes: [''],
    capabilities: () => capabilities,
    start: async () => {
      // Skill changes since the last run are recorded before the first call. A ledger that refuses does not prevent the
      // start: server_health reports it.
      if (ledger.state().kind === 'sound') await skills.refresh()
      started = true
    },
    stop: async () => {
      started = false
    },
    // Does no test write, because it is called often.
    health: () => healthOf(checks()),
    probe: async () => healthOf({ ...checks(), database: await probe.database(), disk: await probe.disk() }),
  }
}

function healthOf(checks: Readonly<Record<string, HealthCheckResult>>): ServiceHealth {
  const wrong = Object.values(checks).flatMap(({ status, message }) => (status === 'skipped' ? [] : (message ?? [])))
  return {
    status: findWorstStatus(Object.values(checks)),
    details: { ...(wrong.length === 0 ? {} : { advice: wrong.join(' ') }), ...toHealthChecksJson(checks) },
  }
}
