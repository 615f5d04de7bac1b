/**
 * Help routes to named targets: the calls for the device, the area, the event or the camera that a goal names; or the
 * question which is meant, where several have the name or none has.
 *
 * Pure.
 */
import { omitUndefined, type JsonObject } from '../../core/json.ts'
import type { HomeseerDevice } from '../catalog/device.ts'
import { findConceptsInText } from '../resolve/name-concepts.ts'
import { listNormalisedWords } from '../resolve/name-normalisation.ts'
import {
  resolveCameras,
  resolveDevices,
  resolveEvents,
  type ScoredTargetMatch,
  type DeviceCandidate,
  type NameResolution,
} from '../resolve/name-resolver.ts'
import type { ReceivedEventRecord } from '../wire/event.ts'
import { explainEmptyArea, findAreaInText, listDevicesInArea, type AreaQuery } from './area.ts'
import { formatDeviceLabel } from './catalog-reader.ts'
import { isGoalAboutSeveralDevices, isQuestionText, chooseControlArgumentsForGoal } from './help-goal-parsing.ts'
import { countGoalWordsOfKind, rateNamedTarget, roundScore } from './help-score.ts'
import { planChangeSteps } from './help-route-steps.ts'
import type { HelpRouteInput, HelpRouteSuggestion, HelpStep } from './help-route-steps.ts'
import { truncateText } from './json-text.ts'

/** Words for many devices together, and the capability or kind by which they are listed. */
const OVERVIEWS: Readonly<Record<string, string>> = {
  light: 'light',
  blind: 'blind',
  lock: 'lock',
  door: 'contact',
  window: 'contact',
  contact: 'contact',
  temperature: 'temperature',
  battery: 'battery',
  motion: 'motion',
  heating: 'thermostat',
  thermostat: 'thermostat',
  plug: 'outlet',
  fan: 'fan',
  valve: 'valve',
}

const MAX_CANDIDATES = 5
/** Ranks an overview before diagnostics: `check the batteries` is not a complaint. */
const OVERVIEW = 0.6
/** A question that is certainly needed comes before everything that might fit. */
const MUST_ASK = 0.9

/** The more specific kind comes first. */
export function listNamedTargetRoutes(
  input: HelpRouteInput,
  words: ReadonlySet<string>,
): readonly HelpRouteSuggestion[] {
  return [...deviceAndEventRoutes(input, words), cameraRoute(input, words)].filter((route) => route !== undefined)
}

/** Devices and events share names: if both or several have the name, the route is a question. */
function deviceAndEventRoutes(
  input: HelpRouteInput,
  words: ReadonlySet<string>,
): readonly (HelpRouteSuggestion | undefined)[] {
  const { goal, resolver } = input
  const devices = firstThatActs(subjectsOf(goal), (subject) => resolveDevices(resolver, subject))
  const events = firstThatActs(subjectsOf(goal), (subject) => resolveEvents(resolver, subject))
  const isDevice = devices.verdict.kind === 'act'
  const isEvent = events.verdict.kind === 'act'
  const areSeveralEvents = isSeveral(events)
  if (isDevice && !isEvent && !areSeveralEvents) return [deviceRoute(input, words, devices.candidates[0])]
  if (isEvent && devices.candidates[0]?.match !== 'exact')
    return [eventRoute(input, words, events.candidates[0]), overviewRoute(input)]
  if (isDevice || isEvent || areSeveralEvents) return [clarification(input, { devices, events, confidence: MUST_ASK })]
  const overview = isQuestionText(goal) ? overviewRoute(input, devices.candidates) : undefined
  const many = isGoalAboutSeveralDevices(goal) && input.mode !== 'read_only' ? areaRoute(input) : undefined
  const best = Math.max(
    devices.candidates[0]?.score ?? 0,
    countGoalWordsOfKind(words, 'event') > 0 ? (events.candidates[0]?.score ?? 0) : 0,
  )
  // Nothing has that name. The confidence is how likely the words are about something in this house.
  const doubt = clarification(input, {
    devices,
    events,
    confidence: many === undefined ? roundScore(0.3 + 0.5 * best) : 0.3,
  })
  return [many, overview, doubt]
}

/** A number or the word `scene` may or may not be part of the name; the complete name is tried first. */
function subjectsOf(goal: string): readonly string[] {
  const withoutNumbers = goal.replaceAll(
    /-?\d{1,5}(?:[.,]\d{1,2})?\s*(?:%|°\s*c?\b|percent\b|prozent\b|degrees\b|grad\b)?/gi,
    ' ',
  )
  const unnamed = withoutNumbers.replaceAll(/\b(scene|event|automation|routine|szene|ereignis|camera|kamera)\b/gi, ' ')
  return [goal, withoutNumbers, unnamed]
}

function firstThatActs<One>(
  subjects: readonly string[],
  resolve: (subject: string) => NameResolution<One>,
): NameResolution<One> {
  const found = subjects.map(resolve)
  const best = found.find(({ verdict }) => verdict.kind === 'act') ?? found.find(isSeveral) ?? found[0]
  if (best === undefined) throw new RangeError('no subject')
  return best
}

function isSeveral({ verdict }: NameResolution<unknown>): boolean {
  return verdict.kind === 'ask' && verdict.reason === 'several-exact'
}

/** A read comes first, even if the goal is a change, because a model needs refs. */
function deviceRoute(
  { goal, mode }: HelpRouteInput,
  words: ReadonlySet<string>,
  top: DeviceCandidate | undefined,
): HelpRouteSuggestion | undefined {
  if (top === undefined) return undefined
  const { target, score } = top
  const look: readonly HelpStep[] = [
    { tool: 'hs4.resolve.devices', argsTemplate: { query: truncateText(goal, 200), limit: 5 } },
    { tool: 'hs4.devices.get', argsTemplate: { refs: [target.ref], includeControls: true } },
  ]
  const choice = chooseControlArgumentsForGoal(target.controls, goal)
  const set = { ref: target.ref, ...choice }
  const steps =
    choice === undefined || mode === 'read_only'
      ? look
      : [...look, ...planChangeSteps('hs4.devices.set', set, { mode, goal })]
  return { route: 'device_control', confidence: rateNamedTarget(score, words, 'device'), steps }
}

/** A device that is named this well comes first: `is the front door locked` is not about contacts. */
const NAMED = 0.75

/** A goal that asks about many devices, such as which lights are on, or about one that it does not name exactly. */
function overviewRoute(
  { goal, resolver: { devices } }: HelpRouteInput,
  candidates: readonly DeviceCandidate[] = [],
): HelpRouteSuggestion | undefined {
  const filters = [...new Set(findConceptsInText(goal).flatMap((concept) => OVERVIEWS[concept] ?? []))]
  if (filters.length === 0) return undefined
  const { area } = findAreaInText(devices, goal)
  const place = area === undefined ? {} : placeJson(area)
  const named = isGoalAboutSeveralDevices(goal) ? [] : candidates.filter(({ score }) => score >= NAMED)
  const refs = named.slice(0, MAX_CANDIDATES).map(({ target }) => target.ref)
  const steps = [
    ...(refs.length === 0 ? [] : [{ tool: 'hs4.devices.get', argsTemplate: { refs } }]),
    ...filters.map((capability) => ({ tool: 'hs4.devices.list', argsTemplate: { capability, ...place } })),
  ]
  // A complaint is not answered with a list.
  const complains = countGoalWordsOfKind(new Set(listNormalisedWords(goal)), 'diagnose') > 0
  return { route: 'device_overview', confidence: complains ? OVERVIEW - 0.1 : OVERVIEW + 0.35, steps }
}

/** All devices of a kind in a place, each named before anything happens; or a question which are meant. */
function areaRoute(input: HelpRouteInput): HelpRouteSuggestion | undefined {
  const { goal, resolver, mode } = input
  const { area, unclear } = findAreaInText(resolver.devices, goal)
  if (area === undefined) return undefined
  const inArea = unclear.length > 0 ? [] : listDevicesInArea(resolver.devices, area)
  const choices = inArea.map((device) => chooseControlArgumentsForGoal(device.controls, goal))
  const choice = choices.find((one) => one !== undefined)
  if (choice === undefined) {
    const inOtherPlaces = listDevicesInArea(resolver.devices, { kind: area.kind })
    const question =
      unclear.length > 0
        ? `What is meant by ${unclear.map((word) => JSON.stringify(word)).join(', ')}?`
        : inArea.length === 0
          ? `${explainEmptyArea(area)} Which devices are meant?`
          : `None of these can do that. Which devices are meant?`
    const shown = (inArea.length > 0 ? inArea : inOtherPlaces).slice(0, MAX_CANDIDATES)
    return asking(input, { question, confidence: MUST_ASK, candidates: shown.map(deviceChoice) })
  }
  const args = { kind: area.kind, ...placeJson(area), ...choice }
  const list = { tool: 'hs4.devices.list', argsTemplate: { capability: area.kind, ...placeJson(area) } }
  return {
    route: 'area_control',
    confidence: 0.95,
    steps: [list, ...planChangeSteps('hs4.areas.set', args, { mode, goal })],
  }
}

function placeJson({ location1, location2 }: AreaQuery): JsonObject {
  return omitUndefined({ location1, location2 })
}

function eventRoute(
  { goal, mode }: HelpRouteInput,
  words: ReadonlySet<string>,
  top: ScoredTargetMatch<ReceivedEventRecord> | undefined,
): HelpRouteSuggestion | undefined {
  if (top?.target.id === undefined) return undefined
  const { id } = top.target
  const look: readonly HelpStep[] = [
    { tool: 'hs4.resolve.events', argsTemplate: { query: truncateText(goal, 200), limit: 5 } },
    { tool: 'hs4.events.get', argsTemplate: { id } },
  ]
  const steps = mode === 'read_only' ? look : [...look, ...planChangeSteps('hs4.events.run', { id }, { mode, goal })]
  return { route: 'event_execution', confidence: rateNamedTarget(top.score, words, 'event'), steps }
}

/** Asks which one is meant: no thing has exactly this name, or several have it. */
function clarification(
  input: HelpRouteInput,
  {
    devices,
    events,
    confidence: sure,
  }: {
    readonly devices: NameResolution<DeviceCandidate>
    readonly events: NameResolution<ScoredTargetMatch<ReceivedEventRecord>>
    readonly confidence: number
  },
): HelpRouteSuggestion {
  const near = (score: number): boolean => score >= (devices.candidates[0]?.score ?? 0) - 0.2
  const candidates = [
    ...devices.candidates.filter(({ score }) => near(score)).map(({ target }) => deviceChoice(target)),
    ...events.candidates
      .filter(({ match, score }) => match === 'exact' || score >= 0.72)
      .map(({ target: { id, group, name } }) => ({ kind: 'event', id: id ?? null, label: `${group} / ${name}` })),
  ]
  const question =
    candidates.length === 0
      ? 'Nothing in this house is called anything like that. What is meant?'
      : 'Nothing says for certain which of these is meant. Which one?'
  return asking(input, { question, confidence: sure, candidates: candidates.slice(0, MAX_CANDIDATES) })
}

function deviceChoice(device: HomeseerDevice): JsonObject {
  return { kind: device.kind, ref: device.ref, label: formatDeviceLabel(device) }
}

function asking(
  { goal }: HelpRouteInput,
  more: { readonly question: string; readonly confidence: number; readonly candidates: readonly JsonObject[] },
): HelpRouteSuggestion {
  const steps = [{ tool: 'hs4.resolve.devices', argsTemplate: { query: truncateText(goal, 200), limit: 5 } }]
  return { route: 'clarification', steps, ...more }
}

/** A goal about a camera without a name means the only one, if there is just one. */
function cameraRoute(
  { goal, mode, resolver }: HelpRouteInput,
  words: ReadonlySet<string>,
): HelpRouteSuggestion | undefined {
  const [named] = resolveCameras(resolver, goal).candidates
  const [only, ...others] = resolver.cameras.values()
  const camera = named?.target ?? (countGoalWordsOfKind(words, 'camera') > 0 && others.length === 0 ? only : undefined)
  if (camera === undefined) return undefined
  const { camId, supportsPanTilt } = camera
  const look: readonly HelpStep[] = [
    { tool: 'hs4.cameras.list', argsTemplate: {} },
    { tool: 'hs4.cameras.snapshot.get', argsTemplate: { camId } },
  ]
  const side = ['left', 'right', 'up', 'down'].find((word) => words.has(word))
  const turns = side !== undefined && supportsPanTilt && mode !== 'read_only'
  const pan = turns ? planChangeSteps('hs4.cameras.pan', { camId, direction: `${side}start` }, { mode, goal }) : []
  return {
    route: 'camera_control',
    confidence: rateNamedTarget(named?.score ?? 0, words, 'camera'),
    steps: [...look, ...pan],
  }
}
