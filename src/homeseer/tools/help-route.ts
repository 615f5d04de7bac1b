/**
 * Help route: from a goal in somebody's words to the calls that reach it, with the arguments filled in from this very
 * house: the device that is meant, the control it has, the event that is called so.
 *
 * Routes are ranked by how well the goal names a thing of that kind, and by the words that only go with one kind.
 *
 * Pure.
 */
import type { Offer } from '../../bus/capability.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Capability } from '../catalog/capability.ts'
import type { Device } from '../catalog/device.ts'
import { chooseControl, type ControlChoice } from '../catalog/control.ts'
import { normalise, tokensOf } from '../resolve/normalise.ts'
import { resolveCameras, resolveDevices, resolveEvents, type Resolver } from '../resolve/resolve.ts'
import { argumentsFor } from './help-arguments.ts'
import { cut } from './json-text.ts'

type HelpMode = 'read_only' | 'dry_run' | 'mutate'

export interface Route {
  readonly route: string
  readonly confidence: number
  readonly steps: readonly Step[]
}

interface Step {
  readonly tool: string
  readonly argsTemplate: JsonObject
}

export interface Goal {
  readonly goal: string
  readonly mode: HelpMode
  readonly resolver: Resolver
  readonly offers: readonly Offer[]
  /** Ids of the installed plug-ins. */
  readonly plugins: readonly string[]
}

/** English, as the contract's keyword routes; names of things are found in any language, by the resolver. */
const WORDS = {
  device: 'device light lights lamp switch dim dimmer turn on off set thermostat temperature lock unlock blind fan',
  event: 'scene event automation run activate trigger routine mode',
  camera: 'camera cameras snapshot picture photo pan look',
  diagnose: 'why wrong broken health status diagnose problem check failing error offline slow',
} as const

/** What many devices are called together, and what all of them can. */
const KINDS: Readonly<Record<string, Capability>> = {
  light: 'on_off',
  lights: 'on_off',
  lamps: 'on_off',
  switches: 'on_off',
  locks: 'lock',
  blinds: 'cover',
  thermostats: 'setpoint',
  temperatures: 'temperature',
  batteries: 'battery',
}

/** Below it a route is noise; `generic_diagnostics` starts above it, so there is always one. */
const LEAST = 0.2
const MAX_ROUTES = 5
/** Before finding out what is wrong: `check the batteries` complains of nothing. */
const OVERVIEW = 0.6

export function helpRoutes(goal: Goal): readonly Route[] {
  const words = new Set(tokensOf(normalise(goal.goal)))
  const routes = [deviceRoute(goal, words), eventRoute(goal, words), cameraRoute(goal, words)].filter(
    (route) => route !== undefined,
  )
  // A stable sort: of equal confidence the more specific kind, which stands first, wins.
  return [...routes, ...toolRoutes(goal, words), diagnosticRoute(words)]
    .filter(({ confidence }) => confidence >= LEAST)
    .toSorted((left, right) => right.confidence - left.confidence)
    .slice(0, MAX_ROUTES)
}

/** Looking comes first, even where the goal is to change: a model acts on refs, not on words. */
function deviceRoute({ goal, mode, resolver }: Goal, words: ReadonlySet<string>): Route | undefined {
  const [top] = resolveDevices(resolver, goal).candidates
  if (top === undefined) return kindRoute(words)
  const { target, score } = top
  const look: readonly Step[] = [
    { tool: 'hs4.resolve.devices', argsTemplate: { query: cut(goal, 200), limit: 5 } },
    { tool: 'hs4.devices.get', argsTemplate: { refs: [target.ref], includeControls: true } },
  ]
  const wish = wishIn(target, goal)
  const set = { ref: target.ref, ...wish }
  const steps =
    wish === undefined || mode === 'read_only' ? look : [...look, ...changing('hs4.devices.set', set, { mode, goal })]
  return { route: 'device_control', confidence: confidence(score, words, 'device'), steps }
}

/** A goal that speaks of many devices and names none, such as which lights are on. */
function kindRoute(words: ReadonlySet<string>): Route | undefined {
  const kind = Object.keys(KINDS).find((word) => words.has(word))
  const capability = kind === undefined ? undefined : KINDS[kind]
  if (capability === undefined) return undefined
  const steps = [{ tool: 'hs4.devices.list', argsTemplate: { capability } }]
  return { route: 'device_overview', confidence: OVERVIEW, steps }
}

function eventRoute({ goal, mode, resolver }: Goal, words: ReadonlySet<string>): Route | undefined {
  const [top] = resolveEvents(resolver, goal).candidates
  if (top?.target.id === undefined) return undefined
  const { id } = top.target
  const look: readonly Step[] = [
    { tool: 'hs4.resolve.events', argsTemplate: { query: cut(goal, 200), limit: 5 } },
    { tool: 'hs4.events.get', argsTemplate: { id } },
  ]
  const steps = mode === 'read_only' ? look : [...look, ...changing('hs4.events.run', { id }, { mode, goal })]
  return { route: 'event_execution', confidence: confidence(top.score, words, 'event'), steps }
}

/** A goal that speaks of a camera and names none gets the first: most houses have one. */
function cameraRoute({ goal, mode, resolver }: Goal, words: ReadonlySet<string>): Route | undefined {
  const [named] = resolveCameras(resolver, goal).candidates
  const [first] = resolver.cameras.values()
  const camera = named?.target ?? (hits(words, 'camera') > 0 ? first : undefined)
  if (camera === undefined) return undefined
  const { camId, supportsPanTilt } = camera
  const look: readonly Step[] = [
    { tool: 'hs4.cameras.list', argsTemplate: {} },
    { tool: 'hs4.cameras.snapshot.get', argsTemplate: { camId } },
  ]
  const side = ['left', 'right', 'up', 'down'].find((word) => words.has(word))
  const turns = side !== undefined && supportsPanTilt && mode !== 'read_only'
  const pan = turns ? changing('hs4.cameras.pan', { camId, direction: `${side}start` }, { mode, goal }) : []
  return {
    route: 'camera_control',
    confidence: confidence(named?.score ?? 0, words, 'camera'),
    steps: [...look, ...pan],
  }
}

/** Tools whose own words the goal uses, or that it names; none that changes anything where the route may only read. */
function toolRoutes(asked: Goal, words: ReadonlySet<string>): readonly Route[] {
  const { goal, mode, offers } = asked
  return (
    offers
      .filter(({ face, effect }) => face.kind === 'tool' && (mode !== 'read_only' || effect === 'reads'))
      .map((offer) => ({ offer, share: shareOf(offer, goal, words) }))
      .filter(({ share }) => share >= LEAST)
      .toSorted((left, right) => right.share - left.share)
      // Two, so that tools do not crowd out the routes that were made for this goal.
      .slice(0, 2)
      .map(({ offer, share }) => ({
        route: `tool:${offer.name}`,
        confidence: round(share),
        steps: toolSteps(offer, asked),
      }))
  )
}

/** A tool that takes the guard's claims is planned first; the others are called as they are. */
function toolSteps(offer: Offer, { goal, mode, resolver, plugins }: Goal): readonly Step[] {
  const args = argumentsFor(offer, goal, { resolver, plugins })
  const takes = (name: string): boolean => Object.hasOwn(offer.requestSchema['properties'] ?? {}, name)
  if (!takes('dryRun') || takes('execute')) return [{ tool: offer.name, argsTemplate: args }]
  const ticket = takes('changeTicket') ? { maintenanceWindowId: '<string>', changeTicket: '<string>' } : {}
  return changing(offer.name, { ...args, ...ticket }, { mode, goal })
}

function diagnosticRoute(words: ReadonlySet<string>): Route {
  return {
    route: 'generic_diagnostics',
    // Last unless the goal complains, and then behind a thing that is named well.
    confidence: round(0.25 + 0.3 * Math.min(1, hits(words, 'diagnose'))),
    steps: [
      { tool: 'hs4.health.get', argsTemplate: {} },
      { tool: 'hs4.selftest.run', argsTemplate: {} },
      { tool: 'hs4.audit.query', argsTemplate: { result: 'error', limit: 20 } },
    ],
  }
}

/** Planning first; what really changes something comes last, and only where that was asked for. */
function changing(tool: string, args: JsonObject, { mode, goal }: Pick<Goal, 'mode' | 'goal'>): readonly Step[] {
  const claims = { confirm: true, intent: cut(goal, 500), reason: cut(`Asked for: ${goal}`, 500) }
  const dry: Step = { tool, argsTemplate: { ...args, dryRun: true } }
  if (mode === 'dry_run')
    return [dry, { tool: 'hs4.change.prepare', argsTemplate: { toolName: tool, args: { ...args, ...claims } } }]
  return [dry, { tool, argsTemplate: { ...args, ...claims } }]
}

/** What the words ask of this device, in a form that it takes; `undefined` when they ask nothing it can do. */
function wishIn(device: Device, goal: string): JsonObject | undefined {
  const words = tokensOf(normalise(goal))
  // The first number in the goal, with the signs people put behind it.
  const number = /(-?\d{1,5}(?:[.,]\d{1,2})?)\s*(?:%|percent|degrees|°|prozent|grad)?/i.exec(goal)?.[1]
  const value = number === undefined ? undefined : Number(number.replace(',', '.'))
  if (value !== undefined && chooseControl(device.controls, { kind: 'value', value }).ok) return { value }
  const named = device.controls
    .filter(
      ({ range, label }) => range === undefined && tokensOf(normalise(label)).every((word) => words.includes(word)),
    )
    // `Unlock` holds no `lock` as a word, and `On Last Level` is asked for by all of its words or not at all.
    .toSorted((left, right) => right.label.length - left.label.length)[0]
  const choice: ControlChoice | undefined = named && { pair: named, value: named.value, text: undefined }
  return choice === undefined || choice.pair.label === '' ? undefined : { label: choice.pair.label }
}

function confidence(score: number, words: ReadonlySet<string>, kind: keyof typeof WORDS): number {
  // How well a thing is named counts three times as much as the words around it.
  return round(Math.min(1, 0.75 * score + (hits(words, kind) > 0 ? 0.25 : 0)))
}

function hits(words: ReadonlySet<string>, kind: keyof typeof WORDS): number {
  return WORDS[kind].split(' ').filter((word) => words.has(word)).length
}

/** In every other title: two tools that share these have nothing in common. */
const LITTLE: ReadonlySet<string> = new Set(['a', 'an', 'the', 'of', 'to', 'in', 'for', 'by', 'its', 'and'])

/** Names count double: `list users` is `hs4.admin.users.list` before anything that mentions users. */
function shareOf({ name, title }: Offer, goal: string, words: ReadonlySet<string>): number {
  if (goal.includes(name)) return 1
  const own = tokensOf(normalise(`${name.replace(/^hs4/, '').replaceAll(/[._]/g, ' ')} ${title}`)).filter(
    (word) => !LITTLE.has(word),
  )
  const said = [...words].filter((word) => !LITTLE.has(word))
  const shared = own.filter((word) => words.has(word)).length
  // One word in common is chance. The share is the harmonic mean, as the resolver scores names.
  return shared < 2 ? 0 : Math.min(0.9, (2 * shared) / (own.length + said.length))
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000
}
