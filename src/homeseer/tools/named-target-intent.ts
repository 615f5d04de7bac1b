/**
 * Named target intent: a change of a thing that the caller named. If exactly one thing has this name, the change is
 * prepared and, if requested, committed; a similar name leads to a question.
 *
 * Reads and writes through the bus.
 */
import type { Call, Outcome } from '../../bus/call.ts'
import { toCallerKey } from '../../bus/caller.ts'
import type { HandlerContext } from '../../bus/call-factory.ts'
import type { Fault } from '../../core/fault.ts'
import { omitUndefined, type JsonObject } from '../../core/json.ts'
import { fail } from '../../core/result.ts'
import type { AliasTargetKind } from '../resolve/alias.ts'
import {
  warnAboutParentDevice,
  type DeviceCandidate,
  type NameResolution,
  type ScoredTargetMatch,
} from '../resolve/name-resolver.ts'
import type { ReceivedEventRecord } from '../wire/event.ts'
import { formatDeviceLabel } from './catalog-reader.ts'
import { prepareAndMaybeCommitChange, toRunnableCall, type HomeseerChangeToStage } from './change-staging.ts'
import {
  canElicit,
  createElicitation,
  readElicitedChoice,
  toChoiceQuestionJson,
  type ElicitationOption,
} from './elicitation.ts'
import { createHs4Fault, extendHs4Fault, type SuggestedToolCall } from './faults.ts'
import { createHomeseerOutcome } from './homeseer-envelope.ts'
import type { HomeseerToolContext } from './homeseer-tool-context.ts'
import { explainAmbiguity, explainAmbiguityToModel, readCurrentResolver, toCandidateJson } from './resolve-tools.ts'

/** The name in the request, the caller's claims, and what the name may mean. */
interface NamedTarget<One> {
  readonly query: string
  readonly claims: HomeseerChangeToStage['claims']
  readonly found: NameResolution<One>
  /** Of a scene: which path the caller wanted. */
  readonly preferPath?: string
}

export interface IntentWithTargetCandidates<One extends ScoredTargetMatch<unknown>> extends NamedTarget<One> {
  readonly kind: AliasTargetKind
  readonly idOf: (one: One) => number
  readonly labelOf: (one: One) => string
  readonly describe: (one: One) => JsonObject
  readonly callFor: (one: One) => SuggestedToolCall & { readonly args: JsonObject }
  /** The endpoint that acts, if a root or master was named. */
  readonly endpointOf: (one: One) => One | undefined
}

/** The number of shown candidates; more would not help a person to choose. */
const TOP = 5

/** Sets the named device; `argumentsFor` are the arguments of hs4.devices.set beside the ref. */
export function createDeviceIntent(
  named: NamedTarget<DeviceCandidate>,
  argumentsFor: (device: DeviceCandidate['target']) => JsonObject,
): IntentWithTargetCandidates<DeviceCandidate> {
  const { query, found } = named
  const candidates = found.candidates
    .slice(0, TOP)
    .map(({ target, score, confidence }) => ({ ref: target.ref, name: target.name, score, confidence }))
  return {
    ...named,
    kind: 'device',
    idOf: ({ target }) => target.ref,
    labelOf: ({ target }) => `${formatDeviceLabel(target)}, ref ${target.ref}`,
    describe: (one) => {
      const warning = warnAboutParentDevice(one, found.candidates)
      return {
        resolution: {
          query,
          resolvedRef: one.target.ref,
          resolvedName: one.target.name,
          resolvedRole: one.actionability.role,
          ...toCandidateJson(one, true),
          candidates,
        },
        ...(warning === undefined ? {} : { warnings: [{ ...warning }] }),
      }
    },
    callFor: ({ target }) => ({ name: 'hs4.devices.set', args: { ref: target.ref, ...argumentsFor(target) } }),
    endpointOf: (one) => {
      const suggestedRef = warnAboutParentDevice(one, found.candidates)?.suggestedRef
      return found.candidates.find(({ target }) => target.ref === suggestedRef)
    },
  }
}

/** Runs the named event. */
export function createEventIntent(
  named: NamedTarget<ScoredTargetMatch<ReceivedEventRecord>>,
): IntentWithTargetCandidates<ScoredTargetMatch<ReceivedEventRecord>> {
  const { query, found } = named
  const candidates = found.candidates
    .slice(0, TOP)
    .map(({ target: { id, group, name }, score, confidence }) => ({ id: id ?? null, group, name, score, confidence }))
  return {
    ...named,
    kind: 'event',
    // An event without an id can be run by name, and cannot be distinguished from another one without an id.
    idOf: ({ target }) => target.id ?? -1,
    labelOf: ({ target }) => `${target.group} / ${target.name}, id ${target.id ?? 'none'}`,
    describe: (one) => ({
      resolution: {
        query,
        resolvedId: one.target.id ?? null,
        resolvedGroup: one.target.group,
        resolvedName: one.target.name,
        ...toCandidateJson(one, true),
        candidates,
      },
    }),
    callFor: ({ target: { id, group, name } }) => ({
      name: 'hs4.events.run',
      args: id === undefined ? { group, name } : { id },
    }),
    endpointOf: () => undefined,
  }
}

/** The change as it is prepared, or shown for a choice. */
export function toChangeToStage<One extends ScoredTargetMatch<unknown>>(
  { query, claims, callFor, labelOf }: IntentWithTargetCandidates<One>,
  one: One,
): HomeseerChangeToStage {
  const { name: toolName, args } = callFor(one)
  return { toolName, args, claims, query, summary: `${query} → ${labelOf(one)}` }
}

export async function carryOutIntent<One extends ScoredTargetMatch<unknown>>(
  homeseer: HomeseerToolContext,
  call: HandlerContext,
  intent: IntentWithTargetCandidates<One>,
): Promise<Outcome> {
  const { found, query, kind, idOf, labelOf, describe } = intent
  const [top] = found.candidates
  // With `preferPath` event or device_fallback this is the contract's NOT_FOUND: the other path is not tried.
  if (top === undefined) return fail(createNothingNamedFault(intent))
  if (found.verdict.kind === 'act') return prepareAndCommit(homeseer, call, { intent, one: top })
  const choices: readonly ElicitationOption[] = found.candidates
    .slice(0, TOP)
    .map((one) => ({ id: idOf(one), label: labelOf(one), call: toRunnableCall(toChangeToStage(intent, one)) }))
  const choice = readElicitedChoice(call, choices)
  // The name as it was given, quoted, so that a person notices if it was misheard.
  const quoted = `(${JSON.stringify(query)})`
  if (choice === undefined && canElicit(call))
    return createElicitation(`${explainAmbiguity(found.verdict) ?? ''} Which one is meant? ${quoted}`, choices)
  if (choice === undefined || choice === 'declined') {
    const prepared = await prepareLikely(homeseer, call, { intent, one: top })
    return createHomeseerOutcome({
      ...toChoiceQuestionJson(`${explainAmbiguityToModel(found.verdict) ?? ''} ${quoted}`, choices, prepared),
      ...describe(top),
    })
  }
  // The choice must be one of these candidates.
  const one = found.candidates.find((candidate) => idOf(candidate) === choice.id) ?? top
  const outcome = await prepareAndCommit(homeseer, call, { intent, one })
  // Learned only after a success: a name that led to a refusal is not worth keeping.
  if (outcome.ok) await learnName(homeseer, call, { kind, id: choice.id, text: query })
  return outcome
}

/**
 * Spec 4 promises a prepared envelope. A likely candidate gets one that has to be committed explicitly; several equal
 * ones get none.
 */
async function prepareLikely<One extends ScoredTargetMatch<unknown>>(
  homeseer: HomeseerToolContext,
  call: HandlerContext,
  { intent, one }: { readonly intent: IntentWithTargetCandidates<One>; readonly one: One },
): Promise<JsonObject | null> {
  const { verdict } = intent.found
  if (verdict.kind !== 'ask' || verdict.reason !== 'fuzzy' || one.confidence === 'low') return null
  const claims = { ...intent.claims, execute: false }
  const staged = await prepareAndMaybeCommitChange(homeseer, call, toChangeToStage({ ...intent, claims }, one))
  return staged.ok ? staged.value.prepared : null
}

async function prepareAndCommit<One extends ScoredTargetMatch<unknown>>(
  homeseer: HomeseerToolContext,
  call: HandlerContext,
  { intent, one }: { readonly intent: IntentWithTargetCandidates<One>; readonly one: One },
): Promise<Outcome> {
  const details = intent.describe(one)
  const staged = await prepareAndMaybeCommitChange(homeseer, call, toChangeToStage(intent, one))
  if (staged.ok) return createHomeseerOutcome({ ...staged.value, ...details })
  // A refusal also names the device and, for a root, the call for the endpoint that acts.
  const endpoint = intent.endpointOf(one)
  const next = endpoint === undefined ? {} : { next: [toRunnableCall(toChangeToStage(intent, endpoint))] }
  return fail(extendHs4Fault(staged.fault, { ...next, details }))
}

/**
 * A confirmed name is from now on valid for this caller, unless it is already the name of something else. It becomes
 * valid for all callers only if the owner of the house confirms it: an agent can answer its own question.
 */
async function learnName(
  homeseer: HomeseerToolContext,
  call: Call,
  name: { readonly kind: AliasTargetKind; readonly id: number; readonly text: string },
): Promise<void> {
  const { learned, configuredAliases } = homeseer
  const current = learned === undefined ? undefined : await readCurrentResolver(homeseer, call)
  if (learned === undefined || current?.ok !== true) return
  const { deviceNames, eventNames } = current.value.resolver
  const others = [...configuredAliases, ...deviceNames.aliases, ...eventNames.aliases]
  const shared = call.caller.kind === 'principal' && call.caller.role === 'admin'
  await learned.learn({ ...name, confirmedBy: toCallerKey(call.caller), shared }, others)
}

function createNothingNamedFault({
  kind,
  query,
  preferPath,
}: Pick<IntentWithTargetCandidates<never>, 'kind' | 'query' | 'preferPath'>): Fault {
  const list = kind === 'event' ? 'hs4.events.list' : 'hs4.devices.list'
  return createHs4Fault('NOT_FOUND', `No ${kind} in this house is called anything like ${JSON.stringify(query)}.`, {
    details: { query, ...omitUndefined({ preferPath }) },
    next: [{ name: list, args: { limit: 50 } }],
  })
}
