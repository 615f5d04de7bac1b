/**
 * Intent tools: from what somebody wants to a prepared change, and on to the change itself where that is asked for and
 * the name leaves no doubt. The name itself acts; anything similar asks.
 *
 * Reads and writes through the bus.
 */
import { z } from 'zod'
import type { Call, Outcome } from '../../bus/call.ts'
import { toCallerKey } from '../../bus/caller.ts'
import type { CallAssessment, Capability } from '../../bus/capability.ts'
import { DELEGATING_STEPS, defineChange } from '../../bus/capability-definition.ts'
import type { HandlerContext } from '../../bus/call-options.ts'
import type { Fault } from '../../core/fault.ts'
import { omitUndefined, type JsonObject } from '../../core/json.ts'
import { fail } from '../../core/result.ts'
import type { AliasKind } from '../resolve/alias.ts'
import {
  resolveDevices,
  resolveEvents,
  warnAboutParentDevice,
  type ResolutionCandidate,
  type DeviceCandidate,
  type Resolution,
} from '../resolve/name-resolver.ts'
import type { ReceivedEvent } from '../wire/event.ts'
import {
  createElicitation,
  canElicit,
  toChoicesJson,
  readElicitedChoice,
  type ElicitationOption,
} from './elicitation.ts'
import { createHomeseerAnswer, type HomeseerToolContext } from './homeseer-tools.ts'
import { DEVICE_SET_SCHEMAS } from './device-set.ts'
import { formatDeviceLabel } from './catalog-reader.ts'
import { homeseerFamily } from './homeseer-envelope.ts'
import { createHs4Fault, SUGGESTED_CALLS_FIELD, toSuggestedCallsJson, type SuggestedToolCall } from './faults.ts'
import {
  isResolutionUnambiguous,
  toCandidateJson,
  readCurrentResolver,
  explainAmbiguityToModel,
  explainAmbiguity,
  queryArgument,
} from './resolve-tools.ts'
import { chooseScenePath, SCENE_PATH_PREFERENCES } from './scene-path.ts'
import { toDeviceSetArguments } from './device-set-request.ts'
import {
  INTENT_GUARD_ARGUMENT_SCHEMAS,
  toRunnableArguments,
  stageHomeseerChange,
  type HomeseerChangeToStage,
} from './change-staging.ts'
import { createTolerantInputSchema } from './homeseer-change.ts'

const common = {
  family: homeseerFamily,
  effect: 'writes',
  timeoutSeconds: 120,
  ...DELEGATING_STEPS,
  // The act is a call that the guard decides about by itself; here a token is made.
  assess: (): CallAssessment => ({ effect: 'records', reasons: [] }),
} as const
const output = z.looseObject({ execute: z.boolean(), prepared: z.looseObject({}).nullable() })
/** Candidates that are shown: more than a person can choose from helps nobody. */
const TOP = 5

export function createIntentTools(homeseer: HomeseerToolContext): readonly Capability[] {
  return [setByName(homeseer), runByName(homeseer), activateScene(homeseer)]
}

/** `source` is for HomeSeer's log; it goes along with the wish and is no part of it. */
function setByName(homeseer: HomeseerToolContext): Capability {
  return defineChange({
    ...common,
    name: 'hs4.intent.device_set_by_name',
    title: 'Set a device by its name',
    description:
      'Finds the device that is called like this, prepares the change and, with `execute`, carries it out. Acts only on the exact name of exactly one device; otherwise asks.',
    input: createTolerantInputSchema({ query: queryArgument, ...DEVICE_SET_SCHEMAS, ...INTENT_GUARD_ARGUMENT_SCHEMAS }),
    output,
    act: async (_plan, input, call) => {
      const current = await readCurrentResolver(homeseer, call, (names) =>
        isResolutionUnambiguous(resolveDevices(names, input.query)),
      )
      if (!current.ok) return current
      const found = resolveDevices(current.value.resolver, input.query)
      const { source } = input
      const args = { ...toDeviceSetArguments(input), ...omitUndefined({ source }) }
      return proceed(homeseer, call, {
        kind: 'device',
        query: input.query,
        found,
        claims: input,
        ...deviceWords,
        describe: (one) => ({
          resolution: deviceResolution(input.query, one, found.candidates),
          ...warningsOf(one, found),
        }),
        callFor: ({ target }) => ({ name: 'hs4.devices.set', args: { ref: target.ref, ...args } }),
      })
    },
  })
}

/** `groupHint` narrows by part of a group's name, after the scores (spec 4, resolve.events). */
function runByName(homeseer: HomeseerToolContext): Capability {
  return defineChange({
    ...common,
    name: 'hs4.intent.event_run_by_name',
    title: 'Run an event by its name',
    description:
      'Finds the event that is called like this, prepares its run and, with `execute`, runs it. Acts only on the exact name of exactly one event; otherwise asks.',
    input: createTolerantInputSchema({
      query: queryArgument,
      groupHint: z.string().max(200).exactOptional(),
      ...INTENT_GUARD_ARGUMENT_SCHEMAS,
    }),
    output,
    act: async (_plan, input, call) => {
      const current = await readCurrentResolver(homeseer, call, (names) =>
        isResolutionUnambiguous(resolveEvents(names, input.query, input.groupHint)),
      )
      if (!current.ok) return current
      const found = resolveEvents(current.value.resolver, input.query, input.groupHint)
      return proceed(homeseer, call, { ...eventParts(input.query, found), claims: input, query: input.query })
    },
  })
}

function activateScene(homeseer: HomeseerToolContext): Capability {
  return defineChange({
    ...common,
    name: 'hs4.intent.scene_activate',
    title: 'Activate a scene',
    description:
      'Finds the event or the device that brings about what is wanted, prepares it and, with `execute`, carries it out. `selection` tells which path was taken. Where an event and a device bear the same name it asks, unless `preferPath` says which. Acts only on exact names; otherwise asks.',
    input: createTolerantInputSchema({
      objective: queryArgument,
      fallbackDeviceValue: z
        .number()
        .exactOptional()
        .describe('What a device is set to if no event is chosen; unless told, its On control, else 100.'),
      preferPath: z.enum(SCENE_PATH_PREFERENCES).default('auto'),
      eventMinScore: z.number().min(0).max(1).default(0.85).describe('Least score for `auto` to choose an event.'),
      ...INTENT_GUARD_ARGUMENT_SCHEMAS,
    }),
    output,
    act: async (_plan, input, call) => {
      const current = await readCurrentResolver(
        homeseer,
        call,
        (names) =>
          isResolutionUnambiguous(resolveEvents(names, input.objective)) ||
          isResolutionUnambiguous(resolveDevices(names, input.objective)),
      )
      if (!current.ok) return current
      const { resolver } = current.value
      const events = resolveEvents(resolver, input.objective)
      const devices = resolveDevices(resolver, input.objective)
      // Decided by scores alone, before anything is prepared, and told in the answer whatever comes of it.
      const selection = chooseScenePath({
        ...input,
        topEventScore: events.candidates[0]?.score,
        topDeviceScore: devices.candidates[0]?.score,
      })
      const isNamed = ({ verdict }: Resolution<unknown>): boolean =>
        verdict.kind === 'act' || (verdict.kind === 'ask' && verdict.reason === 'several-exact')
      // An event and a device of one name, or two events: which is meant only a person can say.
      if (input.preferPath === 'auto' && isNamed(events) && isNamed(devices))
        return createHomeseerAnswer({
          ...sceneChoices(input, { events, devices }),
          path: selection.selectedPath,
          selection: { ...selection, preferPath: input.preferPath, eventMinScore: input.eventMinScore },
        })
      const selected = { selection: { ...selection, preferPath: input.preferPath, eventMinScore: input.eventMinScore } }
      if (selection.selectedPath === 'event') {
        const parts = eventParts(input.objective, events)
        const describe = (one: ResolutionCandidate<ReceivedEvent>): JsonObject => ({
          path: 'event',
          ...parts.describe(one),
          ...selected,
        })
        const { preferPath, objective: query } = input
        return proceed(homeseer, call, { ...parts, describe, claims: input, query, preferPath })
      }
      return proceed(homeseer, call, {
        kind: 'device',
        query: input.objective,
        preferPath: input.preferPath,
        found: devices,
        claims: input,
        ...deviceWords,
        describe: (one) => ({
          path: 'device_fallback',
          resolution: deviceResolution(input.objective, one, devices.candidates),
          ...warningsOf(one, devices),
          ...selected,
        }),
        callFor: ({ target }) => ({
          name: 'hs4.devices.set',
          args: { ref: target.ref, ...sceneWish(target, input.fallbackDeviceValue) },
        }),
      })
    },
  })
}

/** Everything that bears exactly the name, events first: `preferPath` tells them apart. */
function sceneChoices(
  input: HomeseerChangeToStage['claims'] & { readonly objective: string; readonly fallbackDeviceValue?: number },
  found: {
    readonly events: Resolution<ResolutionCandidate<ReceivedEvent>>
    readonly devices: Resolution<DeviceCandidate>
  },
): JsonObject {
  const { objective: query } = input
  const exact = <One extends ResolutionCandidate<unknown>>({ candidates }: Resolution<One>) =>
    candidates.filter(({ match }) => match === 'exact')
  const choice = (
    id: number,
    label: string,
    call: { readonly name: string; readonly args: JsonObject },
  ): ElicitationOption => ({
    id,
    label,
    call: {
      name: call.name,
      args: toRunnableArguments(call.args, { claims: input, query, summary: `${query} → ${label}` }),
    },
  })
  const parts = eventParts(query, found.events)
  return toChoicesJson(`Several things are called exactly that. Ask which one is meant. (${JSON.stringify(query)})`, [
    ...exact(found.events).map((one) => choice(parts.idOf(one), `Event ${parts.labelOf(one)}`, parts.callFor(one))),
    ...exact(found.devices)
      .filter(({ target }) => !target.wrapper)
      .map((one) =>
        choice(one.target.ref, `Device ${deviceWords.labelOf(one)}`, {
          name: 'hs4.devices.set',
          args: { ref: one.target.ref, ...sceneWish(one.target, input.fallbackDeviceValue) },
        }),
      ),
  ])
}

/** 100 is what the contract says, and what no Z-Wave dimmer takes. */
function sceneWish({ controls }: DeviceCandidate['target'], value: number | undefined): JsonObject {
  if (value !== undefined) return { value }
  return controls.some(({ use }) => use === 'On') ? { controlUse: 'On' } : { value: 100 }
}

/** All that telling a device and running an event have in common. */
interface Intent<One extends ResolutionCandidate<unknown>> {
  readonly kind: AliasKind
  readonly query: string
  readonly found: Resolution<One>
  readonly claims: HomeseerChangeToStage['claims']
  /** Of a scene: which path the caller wanted. */
  readonly preferPath?: string
  readonly idOf: (one: One) => number
  readonly labelOf: (one: One) => string
  readonly describe: (one: One) => JsonObject
  readonly callFor: (one: One) => SuggestedToolCall & { readonly args: JsonObject }
}

async function proceed<One extends ResolutionCandidate<unknown>>(
  homeseer: HomeseerToolContext,
  call: HandlerContext,
  intent: Intent<One>,
): Promise<Outcome> {
  const { found, query, kind, idOf, labelOf, describe } = intent
  const [top] = found.candidates
  // With `preferPath` event or device_fallback this is the contract's NOT_FOUND: the other path is not tried.
  if (top === undefined) return fail(nothingCalled(intent))
  if (found.verdict.kind === 'act') return prepareAndCommit(homeseer, call, { intent, one: top })
  const choices: readonly ElicitationOption[] = found.candidates
    .slice(0, TOP)
    .map((one) => ({ id: idOf(one), label: labelOf(one), call: runnableCall(intent, one) }))
  const choice = readElicitedChoice(call, choices)
  // The name as it was said, quoted: a person may see from it that it was heard wrongly.
  const said = `(${JSON.stringify(query)})`
  if (choice === undefined && canElicit(call))
    return createElicitation(`${explainAmbiguity(found.verdict) ?? ''} Which one is meant? ${said}`, choices)
  if (choice === undefined || choice === 'declined') {
    const prepared = await prepareLikely(homeseer, call, { intent, one: top })
    return createHomeseerAnswer({
      ...toChoicesJson(`${explainAmbiguityToModel(found.verdict) ?? ''} ${said}`, choices, prepared),
      ...describe(top),
    })
  }
  // The choice is one of these candidates: `chosen` takes none that is not offered.
  const one = found.candidates.find((candidate) => idOf(candidate) === choice.id) ?? top
  const outcome = await prepareAndCommit(homeseer, call, { intent, one })
  // After it worked: a name that led to a refusal is not worth keeping.
  if (outcome.ok) await remember(homeseer, call, { kind, id: choice.id, text: query })
  return outcome
}

function runnableCall<One extends ResolutionCandidate<unknown>>(intent: Intent<One>, one: One): SuggestedToolCall {
  const { claims, query } = intent
  const { name, args } = intent.callFor(one)
  return { name, args: toRunnableArguments(args, { claims, query, summary: `${query} → ${intent.labelOf(one)}` }) }
}

/** Whoever named a wrapper is told the call for the endpoint that acts. */
function endpointCall<One extends ResolutionCandidate<unknown>>(
  intent: Intent<One>,
  one: One,
): SuggestedToolCall | undefined {
  const asDevice = (candidate: ResolutionCandidate<unknown>): readonly DeviceCandidate[] =>
    'actionability' in candidate ? [candidate as DeviceCandidate] : []
  const [device] = asDevice(one)
  if (device === undefined) return undefined
  const { candidates } = intent.found
  const warning = warnAboutParentDevice(device, candidates.flatMap(asDevice))
  const endpoint = candidates.find((candidate) => asDevice(candidate)[0]?.target.ref === warning?.suggestedRef)
  return endpoint === undefined ? undefined : runnableCall(intent, endpoint)
}

/** Spec 4 promises a prepared envelope. A likely name gets one that somebody has to commit; several equal ones none. */
async function prepareLikely<One extends ResolutionCandidate<unknown>>(
  homeseer: HomeseerToolContext,
  call: HandlerContext,
  { intent, one }: { readonly intent: Intent<One>; readonly one: One },
): Promise<JsonObject | null> {
  const { verdict } = intent.found
  if (verdict.kind !== 'ask' || verdict.reason !== 'fuzzy' || one.confidence === 'low') return null
  const { claims, query, callFor, labelOf } = intent
  const { name: toolName, args } = callFor(one)
  const staged = await stageHomeseerChange(homeseer, call, {
    toolName,
    args,
    claims: { ...claims, execute: false },
    query,
    summary: `${query} → ${labelOf(one)}`,
  })
  return staged.ok ? staged.value.prepared : null
}

async function prepareAndCommit<One extends ResolutionCandidate<unknown>>(
  homeseer: HomeseerToolContext,
  call: HandlerContext,
  { intent, one }: { readonly intent: Intent<One>; readonly one: One },
): Promise<Outcome> {
  const { callFor, labelOf, claims, query } = intent
  const { name: toolName, args } = callFor(one)
  const described = intent.describe(one)
  const staged = await stageHomeseerChange(homeseer, call, {
    toolName,
    args,
    claims,
    query,
    summary: `${query} → ${labelOf(one)}`,
  })
  // Also of a refusal the caller hears which device was meant.
  if (!staged.ok) {
    const better = endpointCall(intent, one)
    const next = better === undefined ? {} : { [SUGGESTED_CALLS_FIELD]: [toSuggestedCallsJson(better)] }
    return fail({ ...staged.fault, details: { ...staged.fault.details, ...next, ...described } })
  }
  return createHomeseerAnswer({ ...staged.value, ...described })
}

/**
 * What was said and confirmed is the caller's own name for it from now on, unless it is something else's name already.
 * Everybody's it becomes only where the owner of the house says it: an agent can answer its own question.
 */
async function remember(
  homeseer: HomeseerToolContext,
  call: Call,
  name: { readonly kind: AliasKind; readonly id: number; readonly text: string },
): Promise<void> {
  const { learned, configuredAliases } = homeseer
  const current = learned === undefined ? undefined : await readCurrentResolver(homeseer, call)
  if (learned === undefined || current?.ok !== true) return
  const { deviceNames, eventNames } = current.value.resolver
  const others = [...configuredAliases, ...deviceNames.aliases, ...eventNames.aliases]
  const shared = call.caller.kind === 'principal' && call.caller.role === 'admin'
  await learned.learn({ ...name, confirmedBy: toCallerKey(call.caller), shared }, others)
}

const deviceWords = {
  idOf: ({ target }: DeviceCandidate) => target.ref,
  labelOf: ({ target }: DeviceCandidate) => `${formatDeviceLabel(target)}, ref ${target.ref}`,
}

function eventParts(
  query: string,
  found: Resolution<ResolutionCandidate<ReceivedEvent>>,
): Omit<Intent<ResolutionCandidate<ReceivedEvent>>, 'claims' | 'query'> {
  return {
    kind: 'event',
    found,
    // An event without an id can be run by name, and cannot be told from another one that has none.
    idOf: ({ target }) => target.id ?? -1,
    labelOf: ({ target }) => `${target.group} / ${target.name}, id ${target.id ?? 'none'}`,
    describe: (one) => ({
      resolution: {
        query,
        resolvedId: one.target.id ?? null,
        resolvedGroup: one.target.group,
        resolvedName: one.target.name,
        ...toCandidateJson(one, true),
        candidates: found.candidates.slice(0, TOP).map(({ target, score, confidence }) => ({
          id: target.id ?? null,
          group: target.group,
          name: target.name,
          score,
          confidence,
        })),
      },
    }),
    callFor: ({ target }) => ({
      name: 'hs4.events.run',
      args: target.id === undefined ? { group: target.group, name: target.name } : { id: target.id },
    }),
  }
}

function deviceResolution(query: string, one: DeviceCandidate, candidates: readonly DeviceCandidate[]): JsonObject {
  return {
    query,
    resolvedRef: one.target.ref,
    resolvedName: one.target.name,
    resolvedRole: one.actionability.role,
    ...toCandidateJson(one, true),
    candidates: candidates
      .slice(0, TOP)
      .map(({ target, score, confidence }) => ({ ref: target.ref, name: target.name, score, confidence })),
  }
}

function warningsOf(one: DeviceCandidate, { candidates }: Resolution<DeviceCandidate>): JsonObject {
  const warning = warnAboutParentDevice(one, candidates)
  return warning === undefined ? {} : { warnings: [{ ...warning }] }
}

function nothingCalled({ kind, query, preferPath }: Pick<Intent<never>, 'kind' | 'query' | 'preferPath'>): Fault {
  const list = kind === 'event' ? 'hs4.events.list' : 'hs4.devices.list'
  return createHs4Fault('NOT_FOUND', `No ${kind} in this house is called anything like ${JSON.stringify(query)}.`, {
    details: { query, ...omitUndefined({ preferPath }) },
    next: [{ name: list, args: { limit: 50 } }],
  })
}
