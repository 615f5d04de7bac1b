/**
 * Home lookup tools: the present state of the home: all of it in one answer, one thing by any of its names, or a few
 * things with their age.
 */
import { z } from 'zod'
import type { Capability } from '../bus/capability.ts'
import { defineTool } from '../bus/capability-definition.ts'
import type { JsonObject } from '../core/json.ts'
import { HOME_TOOL_DEFINITION_DEFAULTS, createSentenceAnswer, thingArgument } from './home-dependencies.ts'
import type { HomeDependencies } from './home-dependencies.ts'
import { findRoomsByName, findThingsOnFloor } from './place-search.ts'
import { findThingByText, matchThings } from './thing-search.ts'
import { formatZoneSentence } from './home-heating.ts'
import { isEverythingText, splitMeaningfulWords, THING_KINDS } from './home-words.ts'
import { findMainSynonym } from './synonyms.ts'
import { collectLaterCallStatus } from './later-tools.ts'
import { readHomeSnapshot } from './home-snapshot.ts'
import type { HomeSnapshot } from './home-snapshot.ts'
import {
  listQuotedNamesUpTo,
  capitaliseSentence,
  quoteForSentence,
  formatAgeInWords,
  formatCount,
  formatDegrees,
  formatList,
} from './sentence-text.ts'
import type { Thing } from './thing.ts'
import { describeThingControlOption } from './thing-control-choice.ts'

const MAX_NAMED = 6
const MAX_ROOMS = 40
const MAX_FOUND = 12
const MAX_SENSORS = 5
/** With more places than this, less is said about each. */
const MANY_PLACES = 4
const MAX_UNCLEAR_CANDIDATES = 12

const homeOverview = defineTool({
  ...HOME_TOOL_DEFINITION_DEFAULTS,
  name: 'home_overview',
  title: 'The home at a glance',
  description: 'Rooms with temperature, what is on, open or unlocked; hot water, boiler; what waits for a person.',
  input: z.strictObject({}),
  effect: 'reads',
})

const homeFind = defineTool({
  ...HOME_TOOL_DEFINITION_DEFAULTS,
  name: 'home_find',
  title: 'Find a thing',
  description: 'Finds things by name, room or kind, in English or German: handles for the other tools, or a question.',
  input: z.strictObject({ text: z.string().min(1).max(120), kind: z.enum(THING_KINDS).exactOptional() }),
  effect: 'reads',
})

const homeState = defineTool({
  ...HOME_TOOL_DEFINITION_DEFAULTS,
  name: 'home_state',
  title: 'How things are',
  description: 'The state of things or rooms, with its age; with `detail` also what each can be told.',
  input: z.strictObject({ of: z.array(thingArgument).min(1).max(20), detail: z.boolean().default(false) }),
  effect: 'reads',
})

export function createHomeLookupTools(parts: HomeDependencies): readonly Capability[] {
  return [
    homeOverview.handledBy(async (_, context) => {
      const picture = await readHomeSnapshot(parts, context)
      const waiting = parts.guard.approvals.list({ state: 'requested' }).length
      const { planned, troubles } = collectLaterCallStatus(parts, context)
      return createSentenceAnswer(overviewSentence(picture, waiting), {
        ...overviewJson(picture, waiting),
        ...(planned === 0 ? {} : { planned_for_later: planned }),
        ...(troubles.length === 0 ? {} : { later_troubles: troubles.slice(0, 3) }),
      })
    }),
    homeFind.handledBy(async ({ text, kind }, context) => {
      const picture = await readHomeSnapshot(parts, context)
      const found = findThingByText(text, picture, { kind })
      if (found.kind === 'one')
        return createSentenceAnswer(formatThingState(found.thing, picture), {
          things: [toThingJson(found.thing, picture)],
        })
      const things = matchThings(text, picture, kind)
        .slice(0, MAX_FOUND)
        .map((match) => match.thing)
      if (things.length === 0)
        return createSentenceAnswer(`Nothing here is called ${quoteForSentence(text)}.`, { things: [] })
      return createSentenceAnswer(`${formatCount(things.length, 'thing')} may be meant by ${quoteForSentence(text)}.`, {
        ask: 'Which one?',
        things: things.map((each) => toThingJson(each, picture)),
      })
    }),
    homeState.handledBy(async ({ of, detail }, context) => {
      const picture = await readHomeSnapshot(parts, context)
      const found = of.map((text) => {
        const one = findThingByText(text, picture)
        const things = thingsFound(one)
        return { text, found: one, things, places: one.kind === 'one' ? [] : findPlaces(text, picture) }
      })
      const places = [...new Set(found.flatMap(({ places: keys }) => keys))].slice(0, MAX_ROOMS)
      const sensors = places.length > MANY_PLACES ? 1 : MAX_SENSORS
      const sentences = found.flatMap(({ text, things, places: keys }) =>
        keys.length > 0
          ? keys.slice(0, MAX_ROOMS).map((key) => formatPlaceState(key, picture, sensors))
          : things.length === 0
            ? [`${quoteForSentence(text)} is not clear`]
            : things.map((thing) => formatThingState(thing, picture)),
      )
      const things = [...new Set(found.flatMap((each) => (each.places.length > 0 ? [] : each.things)))]
      return createSentenceAnswer(`${sentences.join('. ')}.`, {
        things: things.map((thing) => ({ ...toThingJson(thing, picture), ...(detail ? detailJson(thing) : {}) })),
        ...askAbout(
          found.filter((each) => each.things.length === 0 && each.places.length === 0),
          picture,
        ),
      })
    }),
  ]
}

/** The keys of the rooms, if the text names nothing but a room, a floor or the whole home. */
function findPlaces(text: string, picture: HomeSnapshot): readonly string[] {
  const all = picture.rooms.all()
  if (isEverythingText(text)) return all.map(({ key }) => key)
  const rooms = findRoomsByName(text, all).map(({ key }) => key)
  const onFloor = findThingsOnFloor(text, picture.things).flatMap(({ room }) => room ?? [])
  return [...new Set([...rooms, ...onFloor])]
}

/** `“Kitchen”: it is 20 °C, 21 °C is wanted; on: “Lamp”; “Humidity” shows “45”`. */
function formatPlaceState(key: string, picture: HomeSnapshot, maxSensors: number): string {
  const here = picture.things.filter(({ room }) => room === key)
  const zone = picture.heating?.zones.find(({ room }) => room === key)
  const listed = (label: string, isMeant: (thing: Thing) => boolean): readonly string[] => {
    const meant = here.filter(isMeant)
    return meant.length === 0 ? [] : [`${label}: ${names(meant)}`]
  }
  const sensors = here
    .filter(({ kind, state }) => (kind === 'sensor' || kind === 'thermostat') && state !== undefined)
    .toSorted((left, right) => Number(isAboutClimate(right)) - Number(isAboutClimate(left)))
    .slice(0, maxSensors)
    .map((one) => `${quoteForSentence(one.name)} shows ${quoteForSentence(one.state ?? '')}`)
  const about = [
    ...(zone === undefined ? [] : [formatZoneSentence(zone)]),
    ...formatWhatIsOn(here),
    ...listed('open', isStandingOpen),
    ...listed('closed', ({ isOpen, kind }) => isOpen === false && kind !== 'blind'),
    ...listed('unlocked', isUnlocked),
    ...listed('locked', ({ isLocked }) => isLocked === true),
    ...sensors,
  ]
  const name = quoteForSentence(picture.rooms.get(key)?.name ?? key)
  return `${name}: ${about.length === 0 ? 'nothing is known of it' : about.join('; ')}`
}

function isSwitchedOn({ isOn }: Thing): boolean {
  return isOn === true
}

function isStandingOpen({ isOpen }: Thing): boolean {
  return isOpen === true
}

function isUnlocked({ isLocked }: Thing): boolean {
  return isLocked === false
}

/** The sentence "nothing is on" is only used if every thing that can be on is known to be off. */
function formatWhatIsOn(here: readonly Thing[]): readonly string[] {
  const on = here.filter(isSwitchedOn)
  if (on.length > 0) return [`on: ${names(on)}`]
  const switchable = here.filter(({ kind }) => SWITCHABLE.has(kind))
  return switchable.length > 0 && switchable.every(({ isOn }) => isOn === false) ? ['nothing is on'] : []
}

const SWITCHABLE: ReadonlySet<string> = new Set(['light', 'switch', 'fan', 'heater', 'speaker', 'screen'])

function isAboutClimate({ name, kind }: Thing): boolean {
  return (
    kind === 'sensor' &&
    splitMeaningfulWords(name).some((word) => ['temperature', 'humidity'].includes(findMainSynonym(word)))
  )
}

/** Reading does no harm: if a few things match, all of them are described. */
function thingsFound(found: ReturnType<typeof findThingByText>): readonly Thing[] {
  if (found.kind === 'one') return [found.thing]
  return found.kind === 'question' && found.whole.length <= MAX_NAMED ? found.whole : []
}

function askAbout(
  found: readonly { readonly text: string; readonly found: ReturnType<typeof findThingByText> }[],
  picture: HomeSnapshot,
): JsonObject {
  const share = Math.max(1, Math.floor(MAX_UNCLEAR_CANDIDATES / Math.max(1, found.length)))
  const open = found.flatMap(({ text, found: one }) =>
    one.kind === 'question'
      ? [
          {
            text: quoteForSentence(text),
            candidates: one.candidates.slice(0, share).map((each) => toThingJson(each, picture)),
          },
        ]
      : [],
  )
  return open.length === 0 ? {} : { ask: 'Which ones?', unclear: open }
}

/** A thing in a list: our own data in fields of their own, its family's texts in quotation marks. */
export function toThingJson(one: Thing, { rooms }: HomeSnapshot): JsonObject {
  const room = one.room === undefined ? undefined : rooms.get(one.room)?.name
  return {
    handle: one.handle,
    name: quoteForSentence(one.name),
    kind: one.kind,
    ...(room === undefined ? {} : { room: quoteForSentence(room) }),
    ...(one.state === undefined ? {} : { quoted: quoteForSentence(one.state) }),
    ...(one.isSensitive ? { asks_a_person: true } : {}),
  }
}

function detailJson({ controls, ageSeconds }: Thing): JsonObject {
  return {
    age: formatAgeInWords(ageSeconds),
    can_be: controls.slice(0, 20).map((control) => quoteForSentence(describeThingControlOption(control))),
  }
}

/** `The hall lamp (hall) is on`. */
export function formatThingState(one: Thing, { rooms }: HomeSnapshot): string {
  const room = one.room === undefined ? undefined : rooms.get(one.room)?.name
  const where =
    room === undefined || one.name.toLowerCase().includes(room.toLowerCase()) ? '' : ` in ${quoteForSentence(room)}`
  return capitaliseSentence(
    `${quoteForSentence(one.name)}${where} ${stateWords(one)}, ${formatAgeInWords(one.ageSeconds)}`,
  )
}

function stateWords({ isOn, isOpen, isLocked, state }: Thing): string {
  if (isLocked !== undefined) return isLocked ? 'is locked' : 'is unlocked'
  if (isOpen !== undefined) return isOpen ? 'is open' : 'is closed'
  if (isOn === false) return 'is off'
  if (state === undefined) return 'says nothing of its state'
  return isOn === true && /^(?:on|an)$/i.test(state) ? 'is on' : `shows ${quoteForSentence(state)}`
}

function overviewSentence({ things, heating, missing }: HomeSnapshot, waiting: number): string {
  const on = things.filter((thing) => isSwitchedOn(thing) && thing.kind === 'light')
  const open = things.filter(isStandingOpen)
  const unlocked = things.filter(isUnlocked)
  const cold = (heating?.zones ?? []).filter(({ celsius }) => celsius !== undefined)
  return [
    on.length === 0 ? 'No light is on.' : `${formatCount(on.length, 'light')} on: ${names(on)}.`,
    ...(open.length === 0 ? [] : [`Open: ${names(open)}.`]),
    ...(unlocked.length === 0 ? [] : [`Unlocked: ${names(unlocked)}.`]),
    ...(cold.length === 0
      ? []
      : [
          `${formatList(cold.slice(0, MAX_NAMED).map((zone) => `${quoteForSentence(zone.name)} ${formatDegrees(zone.celsius ?? 0)}`))}.`,
        ]),
    ...(waiting === 0 ? [] : [`${formatCount(waiting, 'call waits', 'calls wait')} for a person.`]),
    ...missing.map(({ family }) => `${capitaliseSentence(family)} could not be asked.`),
  ].join(' ')
}

function overviewJson(picture: HomeSnapshot, waiting: number): JsonObject {
  const { rooms, heating, missing } = picture
  const hotWater = heating?.hotWater
  return {
    rooms: rooms
      .all()
      .slice(0, MAX_ROOMS)
      .map((room) => roomJson(room.key, quoteForSentence(room.name), picture))
      .filter((room) => Object.keys(room).length > 1),
    ...(hotWater === undefined
      ? {}
      : {
          hot_water: [
            ...(hotWater.celsius === undefined ? [] : [`${formatDegrees(hotWater.celsius)} now`]),
            ...(hotWater.target === undefined ? [] : [`${formatDegrees(hotWater.target)} wanted`]),
          ].join(', '),
        }),
    ...(heating?.source === undefined ? {} : { boiler: boilerWords(heating.source) }),
    ...(heating?.outsideCelsius === undefined ? {} : { outside: formatDegrees(heating.outsideCelsius) }),
    waits_for_a_person: waiting,
    ...(missing.length === 0
      ? {}
      : { missing: missing.map(({ family, reason }) => ({ family, quoted: quoteForSentence(reason) })) }),
  }
}

function boilerWords({
  isBurning,
  flowCelsius,
  pressureBar,
}: NonNullable<NonNullable<HomeSnapshot['heating']>['source']>): string {
  return [
    ...(isBurning === undefined ? [] : [isBurning ? 'burning' : 'not burning']),
    ...(flowCelsius === undefined ? [] : [`flow ${formatDegrees(flowCelsius)}`]),
    ...(pressureBar === undefined ? [] : [`${Math.round(pressureBar * 10) / 10} bar`]),
  ].join(', ')
}

function roomJson(key: string, name: string, { things, heating }: HomeSnapshot): JsonObject {
  const here = things.filter(({ room }) => room === key)
  const zone = heating?.zones.find(({ room }) => room === key)
  const listed = (label: string, isMeant: (thing: Thing) => boolean): JsonObject => {
    const meant = here.filter(isMeant)
    return meant.length === 0 ? {} : { [label]: listQuotedNamesUpTo(meant, MAX_NAMED, 'and ') }
  }
  return {
    room: name,
    ...(zone === undefined ? {} : { heating: formatZoneSentence(zone) }),
    ...listed('on', isSwitchedOn),
    ...listed('open', isStandingOpen),
    ...listed('unlocked', isUnlocked),
  }
}

function names(of: readonly Thing[]): string {
  return formatList(listQuotedNamesUpTo(of, MAX_NAMED))
}
