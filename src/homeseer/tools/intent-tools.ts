/**
 * Intent tools: from what somebody wants to a prepared change, and on to the change itself where that is asked for and
 * the name leaves no doubt. The name itself acts; anything similar asks.
 *
 * Reads and writes through the bus.
 */
import { z } from 'zod'
import type { Call, Outcome } from '../../bus/call.ts'
import { callerKey } from '../../bus/caller-key.ts'
import type { Capability } from '../../bus/capability.ts'
import { defineTool } from '../../bus/tool.ts'
import type { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import { fail } from '../../core/result.ts'
import type { AliasKind } from '../resolve/alias.ts'
import {
  resolveDevices,
  resolveEvents,
  wrapperWarning,
  type Candidate,
  type DeviceCandidate,
  type Resolution,
} from '../resolve/resolve.ts'
import type { ReceivedEvent } from '../wire/event.ts'
import { askPerson, canAsk, choicesJson, chosen, type Choice } from './asking.ts'
import { answer, type Homeseer } from './dependencies.ts'
import { SET_WISH } from './device-set.ts'
import { deviceLabel } from './device-view.ts'
import { homeseerFamily } from './envelope.ts'
import { hs4Fault, type NextCall } from './faults.ts'
import { acts, candidateJson, currentNames, disambiguation, doubtOf, queryArgument } from './resolve-tools.ts'
import { chooseScenePath, PATHS } from './scene-path.ts'
import { wishJson } from './set-wish.ts'
import { INTENT_GUARD, stage, type Wanted } from './staging.ts'

const common = {
  family: homeseerFamily,
  effect: 'writes',
  timeoutSeconds: 120,
  // The act is a nested call, which the guard weighs by itself.
  assess: () => ({ effect: 'records', reasons: [] }) as const,
} as const
const output = z.looseObject({ execute: z.boolean(), prepared: z.looseObject({}).nullable() })
/** Candidates that are shown: more than a person can choose from helps nobody. */
const TOP = 5

export function intentTools(homeseer: Homeseer): readonly Capability[] {
  return [setByName(homeseer), runByName(homeseer), activateScene(homeseer)]
}

/** `source` is for HomeSeer's log; it goes along with the wish and is no part of it. */
function setByName(homeseer: Homeseer): Capability {
  return defineTool({
    ...common,
    name: 'hs4.intent.device_set_by_name',
    title: 'Set a device by its name',
    description:
      'Finds the device that is called like this, prepares the change and, with `execute`, carries it out. Acts only on the exact name of exactly one device; otherwise asks.',
    input: z.strictObject({ query: queryArgument, ...SET_WISH, ...INTENT_GUARD }),
    output,
  }).handledBy(async (input, call) => {
    const current = await currentNames(homeseer, call, (names) => acts(resolveDevices(names, input.query)))
    if (!current.ok) return current
    const found = resolveDevices(current.value.resolver, input.query)
    const { source } = input
    const args = { ...wishJson(input), ...(source === undefined ? {} : { source }) }
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
  })
}

/** `groupHint` narrows by part of a group's name, after the scores (spec 4, resolve.events). */
function runByName(homeseer: Homeseer): Capability {
  return defineTool({
    ...common,
    name: 'hs4.intent.event_run_by_name',
    title: 'Run an event by its name',
    description:
      'Finds the event that is called like this, prepares its run and, with `execute`, runs it. Acts only on the exact name of exactly one event; otherwise asks.',
    input: z.strictObject({
      query: queryArgument,
      groupHint: z.string().max(200).exactOptional(),
      ...INTENT_GUARD,
    }),
    output,
  }).handledBy(async (input, call) => {
    const current = await currentNames(homeseer, call, (names) =>
      acts(resolveEvents(names, input.query, input.groupHint)),
    )
    if (!current.ok) return current
    const found = resolveEvents(current.value.resolver, input.query, input.groupHint)
    return proceed(homeseer, call, { ...eventParts(input.query, found), claims: input, query: input.query })
  })
}

function activateScene(homeseer: Homeseer): Capability {
  return defineTool({
    ...common,
    name: 'hs4.intent.scene_activate',
    title: 'Activate a scene',
    description:
      'Finds the event or the device that brings about what is wanted, prepares it and, with `execute`, carries it out. Where an event and a device fit equally well it is the device, unless `preferPath` says otherwise; `selection` tells. Acts only on exact names; otherwise asks.',
    input: z.strictObject({
      objective: queryArgument,
      fallbackDeviceValue: z
        .number()
        .exactOptional()
        .describe('What a device is set to if no event is chosen; unless told, its On control, else 100.'),
      preferPath: z.enum(PATHS).default('auto'),
      eventMinScore: z.number().min(0).max(1).default(0.85).describe('Least score for `auto` to choose an event.'),
      ...INTENT_GUARD,
    }),
    output,
  }).handledBy(async (input, call) => {
    const current = await currentNames(
      homeseer,
      call,
      (names) => acts(resolveEvents(names, input.objective)) || acts(resolveDevices(names, input.objective)),
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
    const selected = { selection: { ...selection, preferPath: input.preferPath, eventMinScore: input.eventMinScore } }
    if (selection.selectedPath === 'event') {
      const parts = eventParts(input.objective, events)
      const describe = (one: Candidate<ReceivedEvent>): JsonObject => ({
        path: 'event',
        ...parts.describe(one),
        ...selected,
      })
      return proceed(homeseer, call, { ...parts, describe, claims: input, query: input.objective })
    }
    return proceed(homeseer, call, {
      kind: 'device',
      query: input.objective,
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
  })
}

/** 100 is what the contract says, and what no Z-Wave dimmer takes. */
function sceneWish({ controls }: DeviceCandidate['target'], value: number | undefined): JsonObject {
  if (value !== undefined) return { value }
  return controls.some(({ use }) => use === 'On') ? { controlUse: 'On' } : { value: 100 }
}

/** All that telling a device and running an event have in common. */
interface Intent<One extends Candidate<unknown>> {
  readonly kind: AliasKind
  readonly query: string
  readonly found: Resolution<One>
  readonly claims: Wanted['claims']
  readonly idOf: (one: One) => number
  readonly labelOf: (one: One) => string
  readonly describe: (one: One) => JsonObject
  readonly callFor: (one: One) => NextCall & { readonly args: JsonObject }
}

async function proceed<One extends Candidate<unknown>>(
  homeseer: Homeseer,
  call: Call,
  intent: Intent<One>,
): Promise<Outcome> {
  const { found, query, kind, idOf, labelOf, callFor, describe } = intent
  const [top] = found.candidates
  // With `preferPath` event or device_fallback this is the contract's NOT_FOUND: the other path is not tried.
  if (top === undefined) return fail(nothingCalled(intent))
  if (found.verdict.kind === 'act') return prepareAndCommit(homeseer, call, { intent, one: top })
  const choices: readonly Choice[] = found.candidates
    .slice(0, TOP)
    .map((one) => ({ id: idOf(one), label: labelOf(one), call: callFor(one) }))
  const choice = chosen(call, choices)
  // The name as it was said, quoted: a person may see from it that it was heard wrongly.
  const said = `(${JSON.stringify(query)})`
  if (choice === undefined && canAsk(call))
    return askPerson(`${doubtOf(found.verdict) ?? ''} Which one is meant? ${said}`, choices)
  if (choice === undefined || choice === 'declined')
    return answer({ ...choicesJson(`${disambiguation(found.verdict) ?? ''} ${said}`, choices), ...describe(top) })
  // The choice is one of these candidates: `chosen` takes none that is not offered.
  const one = found.candidates.find((candidate) => idOf(candidate) === choice.id) ?? top
  const outcome = await prepareAndCommit(homeseer, call, { intent, one })
  // After it worked: a name that led to a refusal is not worth keeping.
  if (outcome.ok) await remember(homeseer, call, { kind, id: choice.id, text: query })
  return outcome
}

async function prepareAndCommit<One extends Candidate<unknown>>(
  homeseer: Homeseer,
  call: Call,
  { intent, one }: { readonly intent: Intent<One>; readonly one: One },
): Promise<Outcome> {
  const { callFor, labelOf, claims, query } = intent
  const { name: toolName, args } = callFor(one)
  const described = intent.describe(one)
  const staged = await stage(homeseer, call, { toolName, args, claims, query, summary: `${query} → ${labelOf(one)}` })
  // Also of a refusal the caller hears which device was meant.
  if (!staged.ok) return fail({ ...staged.fault, details: { ...staged.fault.details, ...described } })
  return answer({ ...staged.value, ...described })
}

/**
 * What was said and confirmed is the caller's own name for it from now on, unless it is something else's name already.
 * Everybody's it becomes only where the owner of the house says it: an agent can answer its own question.
 */
async function remember(
  homeseer: Homeseer,
  call: Call,
  name: { readonly kind: AliasKind; readonly id: number; readonly text: string },
): Promise<void> {
  const { learned, configuredAliases, clock } = homeseer
  const current = learned === undefined ? undefined : await currentNames(homeseer, call)
  if (learned === undefined || current?.ok !== true) return
  const { deviceNames, eventNames } = current.value.resolver
  const others = [...configuredAliases, ...deviceNames.aliases, ...eventNames.aliases]
  const shared = call.caller.kind === 'principal' && call.caller.role === 'admin'
  await learned.learn({ ...name, confirmedBy: callerKey(call.caller), shared, atMs: clock.now() }, others)
}

const deviceWords = {
  idOf: ({ target }: DeviceCandidate) => target.ref,
  labelOf: ({ target }: DeviceCandidate) => `${deviceLabel(target)}, ref ${target.ref}`,
}

function eventParts(
  query: string,
  found: Resolution<Candidate<ReceivedEvent>>,
): Omit<Intent<Candidate<ReceivedEvent>>, 'claims' | 'query'> {
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
        ...candidateJson(one, true),
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
    ...candidateJson(one, true),
    candidates: candidates
      .slice(0, TOP)
      .map(({ target, score, confidence }) => ({ ref: target.ref, name: target.name, score, confidence })),
  }
}

function warningsOf(one: DeviceCandidate, { candidates }: Resolution<DeviceCandidate>): JsonObject {
  const warning = wrapperWarning(one, candidates)
  return warning === undefined ? {} : { warnings: [{ ...warning }] }
}

function nothingCalled({ kind, query }: Pick<Intent<never>, 'kind' | 'query'>): Fault {
  const list = kind === 'event' ? 'hs4.events.list' : 'hs4.devices.list'
  return hs4Fault('NOT_FOUND', `No ${kind} in this house is called anything like ${JSON.stringify(query)}.`, {
    details: { query },
    next: [{ name: list, args: { limit: 50 } }],
  })
}
