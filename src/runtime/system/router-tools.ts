/**
 * Router tools: the handlers of the tools for the bus's router.
 *
 * Reads and calls through the bus.
 */
import type { CapabilityBus } from '../../bus/bus.ts'
import type { Call } from '../../bus/call.ts'
import { defineChange } from '../../bus/capability-definition.ts'
import { formatCapabilityVersion } from '../../bus/capability.ts'
import type { Capability, CapabilityVersion } from '../../bus/capability.ts'
import { matchesRouteRequest } from '../../bus/route-request-matching.ts'
import type { CapabilityEntry } from '../../bus/capability-entry.ts'
import { estimateProviderCost } from '../../bus/health.ts'
import type { CapabilityRouter } from '../../bus/router.ts'
import { scoreProviderByLatencyAndLoad } from '../../bus/routing-strategy.ts'
import { findClosestNames, formatNameSuggestion } from '../../core/closest-name.ts'
import { isJsonObject } from '../../core/json.ts'
import type { JsonObject } from '../../core/json.ts'
import { fail, ok } from '../../core/result.ts'
import { isSpellingOfName, resolveSpelledName } from '../../core/tool-name-spelling.ts'
import { createRuntimeOutcome, readCallOrigin } from '../runtime-dependencies.ts'
import type { RuntimeRecordDependencies } from '../runtime-dependencies.ts'
import { createRuntimeArgumentFault } from '../faults.ts'
import {
  CHAT_CAPABILITY_NAME,
  promptModelsInOrder,
  rankModels,
  ROUTING_RULES_HASH,
  scoreModels,
} from './model-routing.ts'
import type { ModelProviderCandidate } from './model-routing.ts'
import { routerCallDefinition, routerFallbackTool, routerScoreTool, routerStatsTool } from './router-definitions.ts'

export type RouterToolsBus = Pick<
  CapabilityBus,
  'offer' | 'recentTraces' | 'stats' | 'registry' | 'router' | 'health' | 'unknownNodeMessage'
>

/** A model reads no longer list; `omitted` says how many more there were. */
const MAX_PROVIDERS_LISTED = 500
/** How many of the latest traces are searched for the call whose provider is needed. */
const TRACES_SEARCHED = 100

export function createBusRouterTools(
  { database, ledger, clock }: RuntimeRecordDependencies,
  bus: RouterToolsBus,
): readonly Capability[] {
  return [
    routerScoreTool.handledBy(async ({ capability: given, version, arguments: body, node: wanted, context }, call) => {
      const nowMs = clock.monotonic()
      if (given === undefined) {
        const scores = scoreModels(chatProviders(bus, call, nowMs), context?.operatorPreference)
        return createRuntimeOutcome({
          capability: CHAT_CAPABILITY_NAME,
          scores: Object.fromEntries(scores),
          winner: rankModels(scores)[0] ?? null,
          rule_version_hash: ROUTING_RULES_HASH,
        })
      }
      const capability = offeredName(bus, given)
      const node = wanted === undefined ? undefined : bus.router.nodeId(wanted)
      const versionReq = versionOf(version) ?? bus.offer(capability)?.version ?? [0, 0]
      // Without the session, so that resolving binds the session to no provider.
      const request: Call = { ...call, capability, versionReq, body, node, sessionId: undefined }
      const winner = bus.router.route(request, nowMs)
      return createRuntimeOutcome({
        capability,
        scores: bus.registry.named(capability).map((entry) => scoreOf(entry, request, { router: bus.router, nowMs })),
        winner: winner === undefined ? null : identityOf(winner),
        ...(winner === undefined
          ? { refusal: `${bus.router.explain(request, nowMs).message}${nearTo(bus, capability)}` }
          : {}),
      })
    }),

    defineChange({
      ...routerCallDefinition,
      act: async (_plan, input, context) => {
        const { version: wanted, arguments: body, node, session_id: sessionId, timeout_ms: timeoutMs, prompt } = input
        if (input.capability === undefined) {
          const providers = chatProviders(bus, context, clock.monotonic())
          const ranked = rankModels(scoreModels(providers, input.context?.operatorPreference))
          const outcome = await promptModelsInOrder(context, { prompt: prompt ?? '', ranked })
          if (!outcome.ok || !isJsonObject(outcome.value.data)) return outcome
          const served = servedBy(bus, context.traceId, CHAT_CAPABILITY_NAME)
          return ok({ ...outcome.value, data: { ...outcome.value.data, served_by: served } })
        }
        const capability = offeredName(bus, input.capability)
        // A chain of calls of this tool by itself would only use up its deadline.
        if (capability === routerCallDefinition.name)
          return fail(createRuntimeArgumentFault('capability', 'calls nothing but itself'))
        const version = versionOf(wanted)
        const options = { node, sessionId, timeoutMs, ...(version === undefined ? {} : { version }) }
        const outcome = await context.call(capability, body, options)
        if (!outcome.ok)
          return fail({ ...outcome.fault, message: `${outcome.fault.message}${nearTo(bus, capability)}` })
        const { data, ...rest } = outcome.value
        return ok({ ...rest, data: { capability, served_by: servedBy(bus, context.traceId, capability), data } })
      },
    }),

    routerFallbackTool.handledBy(async ({ capability, node: wanted, reset }, call) => {
      const nowMs = clock.monotonic()
      const refusal = wanted === undefined ? undefined : bus.unknownNodeMessage(wanted)
      if (refusal !== undefined) return fail(createRuntimeArgumentFault('node', refusal))
      const node = wanted === undefined ? undefined : bus.router.nodeId(wanted)
      const entries = bus.registry
        .all()
        .filter(
          ({ nodeId, offer }) =>
            (node === undefined || nodeId === node) &&
            (capability === undefined || isSpellingOfName(offer.name, capability)),
        )
      const shunned = entries.filter((entry) => entry.health.isEjected())
      if (reset && shunned.length > 0) {
        const providers = shunned.slice(0, MAX_PROVIDERS_LISTED).map(({ key }) => key)
        // Recorded before it is done, so that the name of the caller who reset a provider is always on record.
        await database.commit(() => ledger.appendIn({ kind: 'router.reset', providers, ...readCallOrigin(call) }))
        for (const entry of shunned) bus.health.reset(entry)
      }
      // Providers with problems come first, because the list may be cut.
      const ordered = [...shunned, ...entries.filter((entry) => !shunned.includes(entry))]
      return createRuntimeOutcome({
        providers: ordered.slice(0, MAX_PROVIDERS_LISTED).map((entry) => breakerOf(entry, nowMs)),
        omitted: Math.max(0, ordered.length - MAX_PROVIDERS_LISTED),
        reset_count: reset ? shunned.length : 0,
      })
    }),

    routerStatsTool.handledBy(async () => {
      const { calls, inFlight, retries, hedges, quarantines, cutOff, sessions } = bus.stats()
      const entries = bus.registry.all()
      const local = bus.registry.allLocal().length
      return createRuntimeOutcome({
        calls,
        in_flight: inFlight,
        providers_local: local,
        providers_remote: entries.length - local,
        quarantined: entries.filter((entry) => entry.health.isEjected()).length,
        quarantines,
        retries,
        hedges,
        cut_off: cutOff,
        sticky_sessions: sessions,
      })
    }),
  ]
}

/** Every provider of a language model, as the router sees it at this moment. */
function chatProviders(bus: RouterToolsBus, call: Call, nowMs: number): readonly ModelProviderCandidate[] {
  return bus.registry.named(CHAT_CAPABILITY_NAME).map((entry) => {
    const request: Call = {
      ...call,
      capability: CHAT_CAPABILITY_NAME,
      versionReq: entry.offer.version,
      body: { params: entry.offer.params['model'] === undefined ? {} : { model: entry.offer.params['model'] } },
      node: undefined,
      sessionId: undefined,
    }
    const isViable = matchesRouteRequest(entry, request) && bus.router.blockedBy(entry, nowMs) === undefined
    return { entry, isViable, costMs: estimateProviderCost(entry.latency, entry.inFlight, nowMs) }
  })
}

/** The capability with this name, or else the one that clients without dots list under it. */
function offeredName({ registry }: RouterToolsBus, given: string): string {
  if (registry.named(given).length > 0) return given
  return resolveSpelledName(given, namesIn(registry)) ?? given
}

/** Names that are similar to an unknown one. */
function nearTo({ registry }: RouterToolsBus, name: string): string {
  if (registry.named(name).length > 0) return ''
  return formatNameSuggestion(findClosestNames(name, namesIn(registry)))
}

function namesIn(registry: RouterToolsBus['registry']): readonly string[] {
  return registry.all().map(({ offer }) => offer.name)
}

function versionOf(text: string | undefined): CapabilityVersion | undefined {
  if (text === undefined) return undefined
  const [major = 0, minor = 0] = text.split('.').map(Number)
  return [major, minor]
}

function identityOf(entry: CapabilityEntry): JsonObject {
  const { nodeId, instanceId, isLocal, offer } = entry
  return {
    node_id: nodeId,
    version: formatCapabilityVersion(offer.version),
    instance_id: instanceId,
    is_local: isLocal,
  }
}

function scoreOf(
  entry: CapabilityEntry,
  call: Call,
  { router, nowMs }: { router: CapabilityRouter; nowMs: number },
): JsonObject {
  const blockedBy = router.blockedBy(entry, nowMs)
  const reasons = [
    ...(matchesRouteRequest(entry, call) ? [] : ['version, params, node or trust do not fit']),
    ...(blockedBy === undefined ? [] : [blockedBy]),
  ]
  return {
    ...identityOf(entry),
    score: scoreProviderByLatencyAndLoad(entry),
    cost_ms: estimateProviderCost(entry.latency, entry.inFlight, nowMs),
    viable: reasons.length === 0,
    reasons,
    in_flight: entry.inFlight,
    max_concurrent: entry.offer.maxConcurrent,
    success_rate: entry.health.successRate,
    p50_ms: entry.health.p50Ms,
  }
}

function breakerOf(entry: CapabilityEntry, nowMs: number): JsonObject {
  const { health } = entry
  return {
    ...identityOf(entry),
    name: entry.offer.name,
    state: health.isQuarantined(nowMs) ? 'quarantined' : health.isProbeDue(nowMs) ? 'probe_due' : 'trusted',
    quarantined_for_ms: health.isEjected() ? Math.max(0, health.quarantinedUntilMs - nowMs) : 0,
    ejections: health.ejections,
    success_rate: health.successRate,
    samples: health.samples,
  }
}

/** The trace contains the node and provider of the call; the outcome does not. */
function servedBy(bus: RouterToolsBus, traceId: string, capability: string): string | null {
  const trace = bus
    .recentTraces(TRACES_SEARCHED)
    .find((event) => event.traceId === traceId && event.capability === capability)
  return trace?.toNode ?? null
}
