/** Server tools: server_ping and server_health. */
import { z } from 'zod'
import type { CallChannel } from '../../bus/call.ts'
import { omitCliInstructions } from '../../core/fault.ts'
import type { Capability } from '../../bus/capability.ts'
import type { JsonObject } from '../../core/json.ts'
import { createRuntimeOutcome } from '../runtime-dependencies.ts'
import type { RuntimeRecordDependencies } from '../runtime-dependencies.ts'
import { defineRuntimeTool } from '../runtime-tool.ts'
import { collectAttentionItems, attentionOutputSchema } from './attention.ts'
import type { AttentionList, AttentionSources } from './attention.ts'
import { healthCheckResultSchema, findWorstStatus, toHealthChecksJson } from './health-checks.ts'
import type { HealthCheckResult } from './health-checks.ts'
import type { DatabaseHealthProbe } from './database-probe-store.ts'

const common = { effect: 'reads', input: z.strictObject({}) } as const

/** Spec 5's members about the process; `mode` is from the configuration. */
const standing = {
  version: z.string(),
  mode: z.string(),
  phase: z.enum(['phase1', 'phase2']).describe('phase2 once everything has started.'),
  uptime_ms: z.int(),
}

const serverPing = defineRuntimeTool({
  ...common,
  name: 'server_ping',
  title: 'Is the server there?',
  description: 'Answers at once, with version, mode and uptime. Says nothing about the health of the house.',
  output: z.object({ pong: z.literal(true), ...standing }),
})

const serverHealth = defineRuntimeTool({
  ...common,
  name: 'server_health',
  title: 'How is the server?',
  description:
    'Answers “is there anything I should look at?”: `attention` lists what needs a person (calls and devices that wait for a yes, a heating bus without signal, a HomeSeer or a node that is away, tokens that end soon, a full disk), each with what to do; empty when nothing does. Checks that the database takes durable writes, that the ledger still extends what was signed and is signed often enough, that the disk has room and that calls are not piling up. `status` is that of the worst check: ok, degraded or failing; each check says what is wrong.',
  output: z.object({
    status: z.enum(['ok', 'degraded', 'failing']),
    ...standing,
    db_tables: z.int(),
    checks: z.object({
      database: healthCheckResultSchema,
      ledger: healthCheckResultSchema,
      disk: healthCheckResultSchema,
      queue: healthCheckResultSchema,
    }),
    attention: attentionOutputSchema
      .exactOptional()
      .describe('What needs a person; another node is not told, it has its own.'),
  }),
})

export interface ServerStatusFacts {
  readonly version: string
  readonly mode: string
  readonly started: () => boolean
  readonly uptimeMs: () => number
  /** The checks that need no test write. */
  readonly checks: () => { readonly ledger: HealthCheckResult; readonly queue: HealthCheckResult }
  readonly watched: AttentionSources
}

export function createServerTools(
  { clock }: Pick<RuntimeRecordDependencies, 'clock'>,
  facts: ServerStatusFacts,
  probe: DatabaseHealthProbe,
): readonly Capability[] {
  const now = (): JsonObject => ({
    version: facts.version,
    mode: facts.mode,
    phase: facts.started() ? 'phase2' : 'phase1',
    uptime_ms: Math.floor(facts.uptimeMs()),
  })
  return [
    serverPing.handledBy(async () => createRuntimeOutcome({ pong: true, ...now() })),
    serverHealth.handledBy(async (_, { caller, channel }) => {
      const [database, disk] = await Promise.all([probe.database(), probe.disk()])
      const { ledger, queue } = facts.checks()
      const checks = { database, ledger, disk, queue }
      return createRuntimeOutcome({
        status: findWorstStatus(Object.values(checks)),
        ...now(),
        db_tables: probe.tables(),
        checks: toHealthChecksJson(checks),
        ...(caller.kind === 'peer'
          ? {}
          : { attention: attentionFor(channel, collectAttentionItems(facts.watched, checks, clock.now())) }),
      })
    }),
  ]
}

/** Over MCP the reader is a model without a terminal, so commands are left out. */
function attentionFor(channel: CallChannel, items: AttentionList): AttentionList {
  return channel.startsWith('mcp')
    ? items.map((item) => ({ ...item, sentence: omitCliInstructions(item.sentence) }))
    : items
}
