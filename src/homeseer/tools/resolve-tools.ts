/**
 * Resolve tools: find refs and ids for names, with the evidence and whether a caller may act on the result.
 *
 * Reads through the link.
 */
import { z } from 'zod'
import type { Call, Outcome } from '../../bus/call.ts'
import { toCallerKey } from '../../bus/caller.ts'
import type { Capability } from '../../bus/capability.ts'
import { defineTool } from '../../bus/capability-definition.ts'
import type { Fault } from '../../core/fault.ts'
import { omitUndefined, type JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { formatIsoTimeOrNull } from '../../toolbox/iso-time.ts'
import { toAliasProvenance } from '../resolve/alias.ts'
import {
  resolveCameras,
  resolveDevices,
  resolveEvents,
  type ScoredTargetMatch,
  type DeviceCandidate,
  type NameResolution,
  type NameResolver,
  type ResolutionVerdict,
} from '../resolve/name-resolver.ts'
import type { ResolverWithWarnings } from '../resolve/name-resolver-cache.ts'
import type { HomeseerToolContext } from './homeseer-tool-context.ts'
import { createHomeseerOutcome, HOMESEER_READ_DEFAULTS } from './homeseer-envelope.ts'
import { createHomeseerReadFault } from './faults.ts'
import { createTolerantInputSchema } from './homeseer-change.ts'

export const queryArgument = z.string().min(1).max(200).describe('What a person would say.')
/** Spec 4's default and bound. */
const limit = z.int().min(1).max(100).default(10)
const includeEvidence = z.boolean().default(true).describe('With the name that matched, and where it is from.')
const output = z.looseObject({
  query: z.string(),
  totalMatches: z.int(),
  // An addition of ours: whether a caller may act on the result, which scores alone do not say (ADR 7, ADR 23).
  verdict: z.looseObject({ kind: z.enum(['act', 'ask', 'none']) }),
  items: z.array(z.looseObject({ score: z.number(), confidence: z.enum(['high', 'medium', 'low']) })),
})

export function createResolveTools(homeseer: HomeseerToolContext): readonly Capability[] {
  return [devices(homeseer), events(homeseer), cameras(homeseer)]
}

/** The present resolver, or why there is none. If a name is not `clear`, the house is read again first. */
export async function readCurrentResolver(
  { resolver }: HomeseerToolContext,
  call: Pick<Call, 'caller'>,
  clear: (names: NameResolver) => boolean = () => true,
): Promise<Result<ResolverWithWarnings, Fault>> {
  const caller = toCallerKey(call.caller)
  const known = await resolver.current(caller)
  // Read again before anybody is asked or refused, because the name may be newer than the cache.
  const current = known.ok && !clear(known.value.resolver) ? await resolver.renewed(caller) : known
  return current.ok ? ok(current.value) : fail(createHomeseerReadFault(current.fault, 'reading names'))
}

/** What one name means, after reading the house again if that leaves doubt. */
export async function resolveNameWithRefresh<One>(
  homeseer: HomeseerToolContext,
  call: Call,
  resolve: (names: NameResolver) => NameResolution<One>,
): Promise<Result<{ readonly current: ResolverWithWarnings; readonly found: NameResolution<One> }, Fault>> {
  const current = await readCurrentResolver(homeseer, call, (names) => isResolutionUnambiguous(resolve(names)))
  return current.ok ? ok({ current: current.value, found: resolve(current.value.resolver) }) : current
}

/** Nobody has to be asked. */
export function isResolutionUnambiguous({ verdict }: NameResolution<unknown>): boolean {
  return verdict.kind === 'act'
}

/** `match` decides whether a caller may act (exact); `score` is spec 4's number, which only ranks. */
export function toCandidateJson(candidate: ScoredTargetMatch<unknown>, withEvidence: boolean): JsonObject {
  const { score, confidence, match, evidence } = candidate
  return {
    score,
    confidence,
    match,
    ...(withEvidence
      ? {
          evidence: {
            matchedAlias: evidence.matchedAlias,
            normalizedAlias: evidence.normalizedAlias,
            provenance: toAliasProvenance(evidence.origin),
            ...(evidence.lookAlike ? { lookAlike: true } : {}),
          },
        }
      : {}),
  }
}

/** How much the answer rests on; a source that failed is a warning, not a failure, while others have names. */
export function toResolverCoverageJson(
  { resolver, warnings }: ResolverWithWarnings,
  { clock }: HomeseerToolContext,
): JsonObject {
  return {
    generatedAt: formatIsoTimeOrNull(clock.now()),
    totalDevices: resolver.devices.devices.length,
    totalEvents: resolver.events.size,
    totalCameras: resolver.cameras.size,
    ...(warnings.length === 0
      ? {}
      : {
          warnings: warnings.map(({ source, fault }) => {
            const { code = 'UNKNOWN', message } = createHomeseerReadFault(fault, `reading ${source}`)
            return { source, code, message }
          }),
        }),
  }
}

const DOUBTS: Readonly<Record<Extract<ResolutionVerdict, { kind: 'ask' }>['reason'], string>> = {
  fuzzy: 'Nothing is called exactly that.',
  'several-exact': 'Several are called exactly that.',
  wrapper: 'What is called that stands for other devices.',
  'look-alike': 'A name looks like this one without being it.',
}

/** Why a question is needed; `undefined` when none is. */
export function explainAmbiguity(verdict: ResolutionVerdict): string | undefined {
  return verdict.kind === 'ask' ? DOUBTS[verdict.reason] : undefined
}

/** The reason for a model, which has to ask its user. */
export function explainAmbiguityToModel(verdict: ResolutionVerdict): string | undefined {
  const doubt = explainAmbiguity(verdict)
  return doubt === undefined ? undefined : `${doubt} Ask which one is meant.`
}

interface Question {
  readonly query: string
  readonly limit: number
  readonly includeEvidence: boolean
}

interface Answering<One> {
  readonly resolve: (names: NameResolver) => NameResolution<One>
  readonly item: (one: One, index: number) => JsonObject
  /** Additional members of the answer. */
  readonly more?: (best: One | undefined) => JsonObject
}

/** The answer of all three tools: the candidates, best first, and whether a caller may act on it. */
async function answerCandidates<One extends ScoredTargetMatch<unknown>>(
  { homeseer, call }: { readonly homeseer: HomeseerToolContext; readonly call: Call },
  { query, limit: most, includeEvidence: withEvidence }: Question,
  { resolve, item, more }: Answering<One>,
): Promise<Outcome> {
  const resolved = await resolveNameWithRefresh(homeseer, call, resolve)
  if (!resolved.ok) return resolved
  const { current, found } = resolved.value
  const { candidates, total, verdict } = found
  const hint = explainAmbiguityToModel(verdict)
  return createHomeseerOutcome({
    query,
    refresh: toResolverCoverageJson(current, homeseer),
    totalMatches: total,
    verdict: { ...verdict },
    ...omitUndefined({ disambiguationHint: hint }),
    ...more?.(candidates[0]),
    items: candidates
      .slice(0, most)
      .map((one, index) => ({ ...item(one, index), ...toCandidateJson(one, withEvidence) })),
  })
}

function devices(homeseer: HomeseerToolContext): Capability {
  return defineTool({
    ...HOMESEER_READ_DEFAULTS,
    name: 'hs4.resolve.devices',
    title: 'Find devices by name',
    description:
      'Finds the devices that somebody may mean, best first. Endpoints that can be told something go before roots and masters. `verdict.kind` is `act` only when exactly one device is called exactly that; otherwise ask.',
    input: createTolerantInputSchema({ query: queryArgument, limit, includeEvidence }),
    output,
  }).handledBy((input, call) =>
    answerCandidates({ homeseer, call }, input, {
      resolve: (names) => resolveDevices(names, input.query),
      // Below medium confidence no target is recommended, because a question is needed.
      more: (best) => ({ recommendedRef: best === undefined || best.confidence === 'low' ? null : best.target.ref }),
      item: (one, index) => ({
        ref: one.target.ref,
        name: one.target.name,
        location: one.target.location,
        location2: one.target.location2,
        kind: one.target.kind,
        recommended: index === 0 && one.confidence !== 'low',
        actionability: actionabilityJson(one),
      }),
    }),
  )
}

function actionabilityJson({ actionability }: DeviceCandidate): JsonObject {
  const { rank, role, relationship, parentRef, controlPairCount } = actionability
  return { rank, role, relationship: String(relationship), parentRef: parentRef ?? null, controlPairCount }
}

function events(homeseer: HomeseerToolContext): Capability {
  return defineTool({
    ...HOMESEER_READ_DEFAULTS,
    name: 'hs4.resolve.events',
    title: 'Find events by name',
    description:
      'Finds the events that somebody may mean, best first; `groupHint` keeps those whose group contains it.',
    input: createTolerantInputSchema({
      query: queryArgument,
      groupHint: z.string().max(200).exactOptional(),
      limit,
      includeEvidence,
    }),
    output,
  }).handledBy(({ groupHint, ...input }, call) =>
    answerCandidates({ homeseer, call }, input, {
      resolve: (names) => resolveEvents(names, input.query, groupHint),
      more: () => ({ groupHint: groupHint ?? null }),
      item: ({ target: { id, group, name } }) => ({ id: id ?? null, group, name }),
    }),
  )
}

function cameras(homeseer: HomeseerToolContext): Capability {
  return defineTool({
    ...HOMESEER_READ_DEFAULTS,
    name: 'hs4.resolve.cameras',
    title: 'Find cameras by name',
    description: 'Finds the cameras that somebody may mean, best first.',
    input: createTolerantInputSchema({ query: queryArgument, limit, includeEvidence }),
    output,
  }).handledBy((input, call) =>
    answerCandidates({ homeseer, call }, input, {
      resolve: (names) => resolveCameras(names, input.query),
      item: ({ target: { camId, name } }) => ({ camId, name }),
    }),
  )
}
