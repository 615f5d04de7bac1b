/**
 * Intent tools: prepare a change for a request in words, and carry it out if this is requested and the name is
 * unambiguous.
 *
 * Reads and writes through the bus.
 */
import { z } from 'zod'
import type { CallAssessment, Capability } from '../../bus/capability.ts'
import { DELEGATING_CHANGE_STEPS, defineChange } from '../../bus/capability-definition.ts'
import { omitUndefined, type JsonObject } from '../../core/json.ts'
import {
  resolveDevices,
  resolveEvents,
  type DeviceCandidate,
  type NameResolution,
  type ScoredTargetMatch,
} from '../resolve/name-resolver.ts'
import type { ReceivedEventRecord } from '../wire/event.ts'
import { INTENT_GUARD_ARGUMENT_SCHEMAS, toRunnableCall } from './change-staging.ts'
import { toDeviceSetArguments } from './device-set-request.ts'
import { DEVICE_SET_SCHEMAS } from './device-set-tool.ts'
import { toChoiceQuestionJson, type ElicitationOption } from './elicitation.ts'
import { createTolerantInputSchema } from './homeseer-change.ts'
import { createHomeseerOutcome, homeseerFamilyEnvelope } from './homeseer-envelope.ts'
import type { HomeseerToolContext } from './homeseer-tool-context.ts'
import {
  carryOutIntent,
  createDeviceIntent,
  createEventIntent,
  toChangeToStage,
  type IntentWithTargetCandidates,
} from './named-target-intent.ts'
import { isResolutionUnambiguous, queryArgument, readCurrentResolver, resolveNameWithRefresh } from './resolve-tools.ts'
import { chooseScenePath, SCENE_PATH_PREFERENCES } from './scene-path.ts'

const common = {
  family: homeseerFamilyEnvelope,
  effect: 'writes',
  timeoutSeconds: 120,
  ...DELEGATING_CHANGE_STEPS,
  // The guard decides about the change as a call of its own; this call only creates a token.
  assess: (): CallAssessment => ({ effect: 'records', reasons: [] }),
} as const
const output = z.looseObject({ execute: z.boolean(), prepared: z.looseObject({}).nullable() })

export function createIntentTools(homeseer: HomeseerToolContext): readonly Capability[] {
  return [setByName(homeseer), runByName(homeseer), activateScene(homeseer)]
}

/** `source` is for HomeSeer's log; it is passed along and does not affect the change. */
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
      const { query, source } = input
      const resolved = await resolveNameWithRefresh(homeseer, call, (names) => resolveDevices(names, query))
      if (!resolved.ok) return resolved
      const { found } = resolved.value
      const args = { ...toDeviceSetArguments(input), ...omitUndefined({ source }) }
      return carryOutIntent(
        homeseer,
        call,
        createDeviceIntent({ query, claims: input, found }, () => args),
      )
    },
  })
}

/** `groupHint` filters by a part of the group's name, after scoring (spec 4, resolve.events). */
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
      const { query, groupHint } = input
      const resolved = await resolveNameWithRefresh(homeseer, call, (names) => resolveEvents(names, query, groupHint))
      if (!resolved.ok) return resolved
      const { found } = resolved.value
      return carryOutIntent(homeseer, call, createEventIntent({ query, claims: input, found }))
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
      const { objective: query, preferPath, eventMinScore, fallbackDeviceValue } = input
      const current = await readCurrentResolver(
        homeseer,
        call,
        (names) =>
          isResolutionUnambiguous(resolveEvents(names, query)) || isResolutionUnambiguous(resolveDevices(names, query)),
      )
      if (!current.ok) return current
      const { resolver } = current.value
      const named = { query, claims: input, preferPath }
      const events = createEventIntent({ ...named, found: resolveEvents(resolver, query) })
      const devices = createDeviceIntent({ ...named, found: resolveDevices(resolver, query) }, (device) =>
        sceneArguments(device, fallbackDeviceValue),
      )
      // Decided by the scores alone, before anything is prepared, and always shown in the answer.
      const choice = chooseScenePath({
        preferPath,
        eventMinScore,
        topEventScore: events.found.candidates[0]?.score,
        topDeviceScore: devices.found.candidates[0]?.score,
      })
      const path = choice.selectedPath
      const selection = { ...choice, preferPath, eventMinScore }
      // If an event and a device, or two events, have the name, only a person can say which is meant.
      if (preferPath === 'auto' && isNamed(events.found) && isNamed(devices.found))
        return createHomeseerOutcome({ ...sceneChoices(query, events, devices), path, selection })
      const carryOut = <One extends ScoredTargetMatch<unknown>>(intent: IntentWithTargetCandidates<One>) =>
        carryOutIntent(homeseer, call, { ...intent, describe: (one) => ({ path, ...intent.describe(one), selection }) })
      return path === 'event' ? carryOut(events) : carryOut(devices)
    },
  })
}

/** Something is called exactly that. */
function isNamed({ verdict }: NameResolution<unknown>): boolean {
  return verdict.kind === 'act' || (verdict.kind === 'ask' && verdict.reason === 'several-exact')
}

/** Everything with exactly this name, events first; `preferPath` tells them apart. */
function sceneChoices(
  query: string,
  events: IntentWithTargetCandidates<ScoredTargetMatch<ReceivedEventRecord>>,
  devices: IntentWithTargetCandidates<DeviceCandidate>,
): JsonObject {
  const option = <One extends ScoredTargetMatch<unknown>>(
    noun: string,
    intent: IntentWithTargetCandidates<One>,
    one: One,
  ): ElicitationOption => {
    const label = `${noun} ${intent.labelOf(one)}`
    const change = { ...toChangeToStage(intent, one), summary: `${query} → ${label}` }
    return { id: intent.idOf(one), label, call: toRunnableCall(change) }
  }
  return toChoiceQuestionJson(
    `Several things are called exactly that. Ask which one is meant. (${JSON.stringify(query)})`,
    [
      ...events.found.candidates.filter(({ match }) => match === 'exact').map((one) => option('Event', events, one)),
      ...devices.found.candidates
        .filter(({ match, target }) => match === 'exact' && !target.wrapper)
        .map((one) => option('Device', devices, one)),
    ],
  )
}

/** The contract says 100, which no Z-Wave dimmer accepts, so the value is adapted. */
function sceneArguments({ controls }: DeviceCandidate['target'], value: number | undefined): JsonObject {
  if (value !== undefined) return { value }
  return controls.some(({ use }) => use === 'On') ? { controlUse: 'On' } : { value: 100 }
}
