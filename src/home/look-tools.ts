/**
 * Look tools: the home as it is: all of it in one answer, one thing by any of its names, a few things with their age.
 *
 * Reads through the families' own tools.
 */
import { z } from 'zod'
import type { Capability } from '../bus/capability.ts'
import { defineTool } from '../bus/capability-definition.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { HOME_TOOL_DEFAULTS, sayAnswer, thingArgument } from './dependencies.ts'
import type { HomeParts } from './dependencies.ts'
import { findThing, matchThings } from './find.ts'
import { sayZone } from './heating.ts'
import { THING_KINDS } from './home-words.ts'
import { laterSummary } from './later-tools.ts'
import { readHomePicture } from './picture.ts'
import type { HomePicture } from './picture.ts'
import { capitalise, quoteText, sayAge, sayCount, sayDegrees, sayList } from './say.ts'
import type { Thing } from './thing.ts'
import { describeControl } from './wish.ts'

const MAX_NAMED = 6
const MAX_ROOMS = 40
const MAX_FOUND = 12

const homeOverview = defineTool({
  ...HOME_TOOL_DEFAULTS,
  name: 'home_overview',
  title: 'The home at a glance',
  description: 'Rooms with temperature, what is on, open or unlocked; hot water, boiler; what waits for a person.',
  input: z.strictObject({}),
  effect: 'reads',
})

const homeFind = defineTool({
  ...HOME_TOOL_DEFAULTS,
  name: 'home_find',
  title: 'Find a thing',
  description: 'Finds things by name, room or kind, in English or German: handles for the other tools, or a question.',
  input: z.strictObject({ text: z.string().min(1).max(120), kind: z.enum(THING_KINDS).exactOptional() }),
  effect: 'reads',
})

const homeState = defineTool({
  ...HOME_TOOL_DEFAULTS,
  name: 'home_state',
  title: 'How things are',
  description: 'The state of things, with its age; with `detail` also what each can be told.',
  input: z.strictObject({ of: z.array(thingArgument).min(1).max(20), detail: z.boolean().default(false) }),
  effect: 'reads',
})

export function createLookTools(parts: HomeParts): readonly Capability[] {
  return [
    homeOverview.handledBy(async (_, context) => {
      const picture = await readHomePicture(parts, context)
      const waiting = parts.guard.approvals.list({ state: 'requested' }).length
      const { planned, troubles } = laterSummary(parts, context)
      return sayAnswer(overviewSentence(picture, waiting), {
        ...overviewJson(picture, waiting),
        ...(planned === 0 ? {} : { planned_for_later: planned }),
        ...(troubles.length === 0 ? {} : { later_troubles: troubles.slice(0, 3) }),
      })
    }),
    homeFind.handledBy(async ({ text, kind }, context) => {
      const picture = await readHomePicture(parts, context)
      const directory = listThingNames(picture)
      const found = findThing(text, directory, { kind })
      if (found.kind === 'one')
        return sayAnswer(sayState(found.thing, picture), { things: [thingJson(found.thing, picture)] })
      const things = matchThings(text, directory, kind)
        .slice(0, MAX_FOUND)
        .map((match) => match.thing)
      if (things.length === 0) return sayAnswer(`Nothing here is called ${quoteText(text)}.`, { things: [] })
      return sayAnswer(`${sayCount(things.length, 'thing')} may be meant by ${quoteText(text)}.`, {
        ask: 'Which one?',
        things: things.map((each) => thingJson(each, picture)),
      })
    }),
    homeState.handledBy(async ({ of, detail }, context) => {
      const picture = await readHomePicture(parts, context)
      const found = of.map((text) => ({ text, found: findThing(text, listThingNames(picture)) }))
      const sentences = found.map(({ text, found: one }) =>
        one.kind === 'one' ? sayState(one.thing, picture) : `${quoteText(text)} is not clear`,
      )
      return sayAnswer(`${sentences.join('. ')}.`, {
        things: found.flatMap(({ found: one }) =>
          one.kind === 'one' ? [{ ...thingJson(one.thing, picture), ...(detail ? detailJson(one.thing) : {}) }] : [],
        ),
        ...askAbout(found, picture),
      })
    }),
  ]
}

export function listThingNames({ things, rooms }: HomePicture): Parameters<typeof findThing>[1] {
  return { things, room: (key) => rooms.get(key), rooms: rooms.all() }
}

function askAbout(
  found: readonly { readonly text: string; readonly found: ReturnType<typeof findThing> }[],
  picture: HomePicture,
): JsonObject {
  const open = found.flatMap(({ text, found: one }) =>
    one.kind === 'question'
      ? [{ text: quoteText(text), candidates: one.candidates.map((each) => thingJson(each, picture)) }]
      : [],
  )
  return open.length === 0 ? {} : { ask: 'Which ones?', unclear: open }
}

/** A thing in a list: what is ours in fields of their own, what is its family's between quotation marks. */
export function thingJson(one: Thing, { rooms }: HomePicture): JsonObject {
  const room = one.room === undefined ? undefined : rooms.get(one.room)?.name
  return {
    handle: one.handle,
    name: quoteText(one.name),
    kind: one.kind,
    ...(room === undefined ? {} : { room: quoteText(room) }),
    ...(one.state === undefined ? {} : { quoted: quoteText(one.state) }),
    ...(one.isSensitive ? { asks_a_person: true } : {}),
  }
}

function detailJson({ controls, ageSeconds }: Thing): JsonObject {
  return {
    age: sayAge(ageSeconds),
    can_be: controls.slice(0, 20).map((control) => quoteText(describeControl(control))),
  }
}

/** `The hall lamp (hall) is on`. */
export function sayState(one: Thing, { rooms }: HomePicture): string {
  const room = one.room === undefined ? undefined : rooms.get(one.room)?.name
  const where =
    room === undefined || one.name.toLowerCase().includes(room.toLowerCase()) ? '' : ` in ${quoteText(room)}`
  return capitalise(`${quoteText(one.name)}${where} ${stateWords(one)}, ${sayAge(one.ageSeconds)}`)
}

function stateWords({ isOn, isOpen, isLocked, state }: Thing): string {
  if (isLocked !== undefined) return isLocked ? 'is locked' : 'is unlocked'
  if (isOpen !== undefined) return isOpen ? 'is open' : 'is closed'
  if (isOn === false) return 'is off'
  if (state === undefined) return 'says nothing of its state'
  return isOn === true && /^(?:on|an)$/i.test(state) ? 'is on' : `shows ${quoteText(state)}`
}

function overviewSentence({ things, heating, missing }: HomePicture, waiting: number): string {
  const on = things.filter(({ isOn, kind }) => isOn === true && kind === 'light')
  const open = things.filter(({ isOpen }) => isOpen === true)
  const unlocked = things.filter(({ isLocked }) => isLocked === false)
  const cold = (heating?.zones ?? []).filter(({ celsius }) => celsius !== undefined)
  return [
    on.length === 0 ? 'No light is on.' : `${sayCount(on.length, 'light')} on: ${names(on)}.`,
    ...(open.length === 0 ? [] : [`Open: ${names(open)}.`]),
    ...(unlocked.length === 0 ? [] : [`Unlocked: ${names(unlocked)}.`]),
    ...(cold.length === 0
      ? []
      : [
          `${sayList(cold.slice(0, MAX_NAMED).map((zone) => `${quoteText(zone.name)} ${sayDegrees(zone.celsius ?? 0)}`))}.`,
        ]),
    ...(waiting === 0 ? [] : [`${sayCount(waiting, 'call waits', 'calls wait')} for a person.`]),
    ...missing.map(({ family }) => `${capitalise(family)} could not be asked.`),
  ].join(' ')
}

function overviewJson(picture: HomePicture, waiting: number): JsonObject {
  const { rooms, heating, missing } = picture
  const hotWater = heating?.hotWater
  return {
    rooms: rooms
      .all()
      .slice(0, MAX_ROOMS)
      .map((room) => roomJson(room.key, quoteText(room.name), picture))
      .filter((room) => Object.keys(room).length > 1),
    ...(hotWater === undefined
      ? {}
      : {
          hot_water: [
            ...(hotWater.celsius === undefined ? [] : [`${sayDegrees(hotWater.celsius)} now`]),
            ...(hotWater.target === undefined ? [] : [`${sayDegrees(hotWater.target)} wanted`]),
          ].join(', '),
        }),
    ...(heating?.source === undefined ? {} : { boiler: boilerWords(heating.source) }),
    ...(heating?.outsideCelsius === undefined ? {} : { outside: sayDegrees(heating.outsideCelsius) }),
    waits_for_a_person: waiting,
    ...(missing.length === 0
      ? {}
      : { missing: missing.map(({ family, reason }) => ({ family, quoted: quoteText(reason) })) }),
  }
}

function boilerWords({
  isBurning,
  flowCelsius,
  pressureBar,
}: NonNullable<NonNullable<HomePicture['heating']>['source']>): string {
  return [
    ...(isBurning === undefined ? [] : [isBurning ? 'burning' : 'not burning']),
    ...(flowCelsius === undefined ? [] : [`flow ${sayDegrees(flowCelsius)}`]),
    ...(pressureBar === undefined ? [] : [`${Math.round(pressureBar * 10) / 10} bar`]),
  ].join(', ')
}

function roomJson(key: string, name: string, { things, heating }: HomePicture): JsonObject {
  const here = things.filter(({ room }) => room === key)
  const zone = heating?.zones.find(({ room }) => room === key)
  const listed = (label: string, of: readonly Thing[]): JsonObject =>
    of.length === 0 ? {} : { [label]: [...of.slice(0, MAX_NAMED).map((each) => quoteText(each.name)), ...more(of)] }
  return {
    room: name,
    ...(zone === undefined ? {} : { heating: sayZone(zone) }),
    ...listed(
      'on',
      here.filter(({ isOn }) => isOn === true),
    ),
    ...listed(
      'open',
      here.filter(({ isOpen }) => isOpen === true),
    ),
    ...listed(
      'unlocked',
      here.filter(({ isLocked }) => isLocked === false),
    ),
  }
}

function more(of: readonly Thing[]): readonly Json[] {
  return of.length <= MAX_NAMED ? [] : [`and ${of.length - MAX_NAMED} more`]
}

function names(of: readonly Thing[]): string {
  const shown = of.slice(0, MAX_NAMED).map(({ name }) => quoteText(name))
  return sayList(of.length <= MAX_NAMED ? shown : [...shown, `${of.length - MAX_NAMED} more`])
}
