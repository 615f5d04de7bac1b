/** Bus tools: bus_topology, bus_traces and bus_stats, the bus as it is at this moment. */
import { z } from 'zod'
import type { CapabilityBus } from '../../bus/bus.ts'
import type { Capability } from '../../bus/capability.ts'
import type { CapabilityProviderView } from '../../bus/topology.ts'
import { TRACE_BUFFER_CAPACITY } from '../../bus/trace.ts'
import type { CallTraceRecord } from '../../bus/trace.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { isSpellingOfName, toUnderscoreName } from '../../core/tool-name-spelling.ts'
import type { Guard } from '../../guard/guard.ts'
import { createRuntimeOutcome } from '../runtime-dependencies.ts'
import { defineRuntimeTool } from '../runtime-tool.ts'
import { limitArgument } from '../paging.ts'
import { createIdArgument } from '../text-arguments.ts'

/** The figures grow with the bus, so their names are defined where they are computed. */
const figures = z.record(z.string(), z.unknown())

/** A house has two hundred capabilities; a community of many nodes has thousands, which are too many for a model. */
const DEFAULT_CAPABILITIES = 250
const MAX_CAPABILITIES = 1_000

const busTopology = defineRuntimeTool({
  effect: 'reads',
  name: 'bus_topology',
  title: 'What is on the bus',
  description:
    'Shows every capability that this node and its peers offer, with load, latency, success rate and quarantine, and the peers themselves. Use it to see where something runs and how well. With `prefix` each is shown whole; without, what is zero or empty is left out. By name; of many a page, and `next_after` says where to go on.',
  input: z.strictObject({
    prefix: createIdArgument().exactOptional().describe('Only capabilities whose name begins so.'),
    after: createIdArgument().exactOptional().describe('Only those behind this name: `next_after` of the page before.'),
    limit: z
      .int()
      .min(1)
      .max(MAX_CAPABILITIES)
      .default(DEFAULT_CAPABILITIES)
      .describe(`How many capabilities about, 1 to ${MAX_CAPABILITIES}; ${DEFAULT_CAPABILITIES} unless told.`),
  }),
  output: z.object({
    our_node_id: z.string(),
    community_id: z.string().nullable(),
    peers: z.array(figures),
    capabilities_local: z.array(figures),
    capabilities_remote: z.array(figures),
    capabilities_total: z.int().describe('How many there are, on whatever page.'),
    next_after: z.string().exactOptional().describe('There are more: the last name of this page.'),
    in_flight_total: z.int(),
    disagreements: z
      .array(figures)
      .describe('Names whose providers say different things of them; the strictest of them counts.'),
  }),
})

const busTraces = defineRuntimeTool({
  effect: 'reads',
  name: 'bus_traces',
  title: 'The last calls',
  description: `Lists the calls under way, and the last ones, newest first: who called what, where it ran, how it ended and how long each stage took. The last ${TRACE_BUFFER_CAPACITY.toLocaleString('en')} are kept in memory; for proof of older ones see the ledger.`,
  input: z.strictObject({
    limit: limitArgument,
    capability: createIdArgument().exactOptional(),
    trace_id: createIdArgument().exactOptional(),
    result: createIdArgument().exactOptional().describe('`ok`, `running`, or an error code.'),
  }),
  output: z.object({ traces: z.array(figures) }),
})

const busStats = defineRuntimeTool({
  effect: 'reads',
  name: 'bus_stats',
  title: 'The bus in numbers',
  description: 'Counts since the start: calls, errors by code, retries, quarantines, and mean time per capability.',
  input: z.strictObject({}),
  output: figures,
})

export type InspectionToolsBus = Pick<
  CapabilityBus,
  'topologySnapshot' | 'recentTraces' | 'runningTraces' | 'stats' | 'offer'
>

export function createBusInspectionTools(
  bus: InspectionToolsBus,
  guard: Pick<Guard, 'mayRead'>,
): readonly Capability[] {
  return [
    busTopology.handledBy(async ({ prefix = '', after = '', limit }) => {
      const { communityId, peers, capabilitiesLocal, capabilitiesRemote, disagreements, ...rest } =
        bus.topologySnapshot()
      const wanted = ({ name }: CapabilityProviderView): boolean =>
        name.startsWith(prefix) || toUnderscoreName(name).startsWith(prefix)
      const shown = prefix === '' ? inBrief : snakeCase
      const all = [...capabilitiesLocal, ...capabilitiesRemote].filter(wanted)
      const { entries, ...next } = pageByName(
        all.filter(({ name }) => name > after),
        limit,
      )
      return createRuntimeOutcome({
        ...snakeCase(rest),
        community_id: communityId ?? null,
        peers: peers.map(snakeCase),
        capabilities_local: entries.filter(({ isLocal }) => isLocal).map(shown),
        capabilities_remote: entries.filter(({ isLocal }) => !isLocal).map(shown),
        capabilities_total: all.length,
        disagreements: disagreements.filter(({ name }) => name.startsWith(prefix)).map(snakeCase),
        ...next,
      })
    }),

    busTraces.handledBy(async ({ limit, capability, trace_id: traceId, result }, { caller, traceId: ownId }) => {
      // A trace has no target: what a call was about is in the ledger.
      const mayRead = ({ caller: principal, capability: tool }: CallTraceRecord): boolean =>
        guard.mayRead(caller, { principal, effect: bus.offer(tool)?.effect, target: undefined }, bus.offer(tool))
      // The caller knows that this very call is running, so it is left out.
      const running = bus.runningTraces().filter((trace) => trace.traceId !== ownId)
      const traces = [...running, ...bus.recentTraces(TRACE_BUFFER_CAPACITY)].filter(
        (trace) =>
          mayRead(trace) &&
          (capability === undefined || isSpellingOfName(trace.capability, capability)) &&
          (traceId === undefined || trace.traceId === traceId) &&
          (result === undefined || trace.result === result),
      )
      return createRuntimeOutcome({ traces: traces.slice(0, limit).map(traceJson) })
    }),

    busStats.handledBy(async () => {
      // The members of each entry are renamed separately, because snakeCase does not descend into lists.
      const { capabilities, ...totals } = bus.stats()
      return createRuntimeOutcome({ ...snakeCase(totals), capabilities: capabilities.map(snakeCase) })
    }),
  ]
}

/** All capabilities of one name are on one page, so that a name alone is a valid cursor. */
function pageByName(
  found: readonly CapabilityProviderView[],
  limit: number,
): { readonly entries: readonly CapabilityProviderView[]; readonly next_after?: string } {
  const entries = found.toSorted((left, right) => (left.name < right.name ? -1 : left.name > right.name ? 1 : 0))
  const last = entries[limit - 1]?.name ?? ''
  const more = last === '' ? -1 : entries.findIndex(({ name }) => name > last)
  return more === -1 ? { entries } : { entries: entries.slice(0, more), next_after: last }
}

/** Times are rounded to microseconds, because every digit costs a model tokens, and there are seven times in each. */
function traceJson({ ms, stages, ...trace }: CallTraceRecord): JsonObject {
  const timed = Object.entries(stages).map(([stage, took]) => [stage, toMicroseconds(took)])
  return snakeCase({ ...trace, ms: toMicroseconds(ms), stages: Object.fromEntries(timed) })
}

function toMicroseconds(ms: number): number {
  return Math.round(ms * 1_000) / 1_000
}

/**
 * Leaves out counters of capabilities that were never called. The node of local ones is only named once, beside the
 * list.
 */
function inBrief({
  nodeId,
  instanceId,
  isLocal,
  params,
  p50Ms,
  p99Ms,
  successRate,
  ...entry
}: CapabilityProviderView): JsonObject {
  const nonZero = Object.entries(entry).filter(([, value]) => value !== 0)
  return snakeCase({
    ...(isLocal ? {} : { nodeId }),
    ...Object.fromEntries(nonZero),
    ...(entry.samples === 0 ? {} : { p50Ms, p99Ms, successRate }),
    ...(Object.keys(params).length === 0 ? {} : { instanceId, params }),
  })
}

/**
 * Renames members to snake case, as spec 2 has them. Only the names of one record: what is inside may be text from
 * outside.
 */
function snakeCase(record: object): JsonObject {
  return Object.fromEntries(
    Object.entries(record)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), value as Json]),
  )
}
