/**
 * Set tools: changing one thing, or many of a harmless kind, each through its family's own tool in the caller's name.
 *
 * An answer has an `id`: `undo` brings back what was before, as far as that is known.
 *
 * Reads and writes through the families' own tools.
 */
import { z } from 'zod'
import type { Outcome } from '../bus/call.ts'
import type { Capability } from '../bus/capability.ts'
import { CALLS_ON, defineChange } from '../bus/capability-definition.ts'
import type { HandlerContext } from '../bus/call-options.ts'
import type { Fault } from '../core/fault.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { fail } from '../core/result.ts'
import { HOME_TOOL, preview, say, thing, why } from './dependencies.ts'
import type { HomeParts } from './dependencies.ts'
import { findThing } from './find.ts'
import { kindOfWord, meaningfulWords, THING_KINDS } from './home-words.ts'
import { at, textAt } from './json-path.ts'
import { directoryOf, thingJson } from './look-tools.ts'
import { takePicture } from './picture.ts'
import type { Picture } from './picture.ts'
import { capitalise, quote, sayCount, sayList, sayName } from './say.ts'
import { mayBeSetWithOthers } from './thing.ts'
import type { Thing, ThingCall } from './thing.ts'
import { chooseControl } from './wish.ts'

const MAX_MANY = 64
const MAX_NAMED = 8

const wanted = z
  .union([z.string().min(1).max(60), z.number(), z.boolean()])
  .describe('on, off, open, close, lock, unlock, a number (percent or °C), or a word of its own.')

/** It only calls on: what it calls is planned, decided about and recorded there. */
const SETS = { ...HOME_TOOL, ...CALLS_ON, effect: 'writes', idempotent: false } as const

export function setTools(parts: HomeParts): readonly Capability[] {
  return [
    defineChange({
      ...SETS,
      name: 'home_set',
      title: 'Change a thing',
      description: 'Sets one thing and says what was verified; locks and doors wait for a person. `id` can be undone.',
      input: z.strictObject({ thing, to: wanted, why, preview }),
      act: async (_, input, context) => {
        const picture = await takePicture(parts, context)
        const found = findThing(input.thing, directoryOf(picture))
        if (found.kind === 'none') return say(`Nothing here is called ${quote(input.thing)}. Nothing was done.`)
        if (found.kind === 'question')
          return say(`It is not clear what ${quote(input.thing)} means. Nothing was done.`, {
            ask: 'Which one?',
            things: found.candidates.map((each) => thingJson(each, picture)),
          })
        return setOne(found.thing, input, context, picture)
      },
    }),
    defineChange({
      ...SETS,
      name: 'home_set_many',
      title: 'Change many things',
      description:
        'Sets all lights, switches, blinds or fans of a room, a floor or the home. Never locks, doors, valves, heaters or alarms.',
      input: z.strictObject({
        room: z.string().max(60).exactOptional().describe('A room or a floor; left out: the whole home.'),
        kind: z.enum(THING_KINDS).describe('Such as light or blind.'),
        to: wanted,
        except: z.array(thing).max(20).default([]),
        why,
        preview,
      }),
      timeoutSeconds: 120,
      act: async (_, input, context) => setMany(input, await takePicture(parts, context), context),
    }),
  ]
}

interface SetWish {
  readonly to: string | number | boolean
  readonly why: string
  readonly preview: boolean
}

async function setOne(one: Thing, wish: SetWish, context: HandlerContext, picture: Picture): Promise<Outcome> {
  const control = chooseControl(one, wish.to)
  if (!control.ok) return say(refusalOf(one, wish.to, control.fault), { things: [thingJson(one, picture)] })
  const { call, told } = control.value
  if (wish.preview && !call.tool.startsWith('hs4.'))
    return say(`${capitalise(sayName(one.name))} would be set to ${sayName(told)}.`, { call: { ...call } })
  const outcome = await carryOut(call, wish, context)
  if (!outcome.ok) return fail(withLabel(outcome.fault, one))
  const { data } = outcome.value
  const shown = textAt(data, 'verification', 'observed', 'status')
  if (wish.preview) return say(`${capitalise(sayName(one.name))} would be set to ${sayName(told)}. Nothing was done.`)
  return say(setSentence(one, told, { shown, data }), {
    things: [{ ...thingJson(one, picture), ...(shown === undefined ? {} : { quoted: quote(shown) }) }],
    id: context.traceId,
    ...(one.restore === undefined ? {} : { undo: { ...one.restore } }),
  })
}

/** Says `verified` only of what was read back. */
function setSentence(one: Thing, told: string, { shown, data }: { shown: string | undefined; data: Json }): string {
  const name = capitalise(sayName(one.name))
  const state = textAt(data, 'verification', 'outcome')
  if (state === 'still_moving') return `${name} is on its way to ${sayName(told)}.`
  const isVerified = at(data, 'verification', 'matched') === true || state === 'confirmed'
  if (isVerified) return `${name} is ${shown === undefined ? sayName(told) : quote(shown)}, read back.`
  return `${name} was told ${sayName(told)}${shown === undefined ? '; it does not report back' : ` and shows ${quote(shown)}`}.`
}

function refusalOf(one: Thing, to: SetWish['to'], can: readonly string[]): string {
  const name = capitalise(sayName(one.name))
  if (can.length === 0) return `${name} cannot be told anything: it only tells. Nothing was done.`
  return `${name} cannot be set to ${quote(String(to))}. It takes ${sayList(can.slice(0, MAX_NAMED).map(sayName))}. Nothing was done.`
}

function carryOut({ tool, arguments: body }: ThingCall, wish: SetWish, context: HandlerContext): Promise<Outcome> {
  return context.call(tool, tool.startsWith('hs4.') ? { ...body, ...homeseerClaims(wish) } : body)
}

/** HomeSeer's tools want it said that a change is meant, and why. */
export function homeseerClaims({ why: reason, preview: dryRun }: Pick<SetWish, 'why' | 'preview'>): JsonObject {
  return { confirm: true, intent: reason, reason, ...(dryRun ? { dryRun: true } : {}) }
}

function withLabel(fault: Fault, one: Thing): Fault {
  return fault.details?.['label'] === undefined && fault.kind === 'approval-required'
    ? { ...fault, details: { ...fault.details, label: one.name } }
    : fault
}

interface ManyWish extends SetWish {
  readonly room?: string
  readonly kind: Thing['kind']
  readonly except: readonly string[]
}

async function setMany(wish: ManyWish, picture: Picture, context: HandlerContext): Promise<Outcome> {
  const meant = thingsMeant(wish, picture)
  if (typeof meant === 'string') return say(meant)
  const able = meant.flatMap((one) => {
    const control = chooseControl(one, wish.to)
    return control.ok ? [{ one, call: control.value.call }] : []
  })
  const what = `${sayCount(able.length, wish.kind)} to ${quote(String(wish.to))}`
  if (able.length === 0) return say(`No ${wish.kind} there can be set to ${quote(String(wish.to))}. Nothing was done.`)
  if (able.length > MAX_MANY)
    return say(`That is ${what}: more than ${MAX_MANY} at once. Name a room. Nothing was done.`)
  const list = able.map(({ one }) => sayName(one.name))
  if (wish.preview) return say(`This would set ${what}: ${sayList(list.slice(0, MAX_NAMED))}.`, { count: able.length })
  const done: Thing[] = []
  const failed: JsonObject[] = []
  for (const { one, call } of able) {
    const outcome = await carryOut(call, wish, context)
    if (outcome.ok) done.push(one)
    else failed.push({ name: sayName(one.name), quoted: quote(outcome.fault.message) })
    if (context.signal.aborted) break
  }
  return say(`Set ${sayCount(done.length, wish.kind)} of ${able.length} to ${quote(String(wish.to))}.`, {
    ...(failed.length === 0 ? {} : { failed: failed.slice(0, MAX_NAMED) }),
    id: context.traceId,
    undo_many: done.flatMap(({ restore }) => (restore === undefined ? [] : [{ ...restore }])),
  })
}

/** The things of one kind in a room or on a floor; a sentence where nobody can be sure which are meant. */
function thingsMeant({ room, kind, except }: ManyWish, picture: Picture): readonly Thing[] | string {
  const { rooms, things } = picture
  const left = new Set(
    except.flatMap((text) => {
      const found = findThing(text, directoryOf(picture))
      return found.kind === 'one' ? [found.thing.handle] : []
    }),
  )
  if (left.size < except.length) return 'It is not clear what is to be left out. Nothing was done.'
  const many = things.filter((one) => one.kind === kind && mayBeSetWithOthers(one) && !left.has(one.handle))
  if (room === undefined) return many
  const key = rooms.find(room)?.key
  const onFloor = many.filter(({ floor }) => floor !== undefined && isFloorNamed(floor, room))
  const inRoom = key === undefined ? [] : many.filter((one) => one.room === key)
  if (inRoom.length > 0 || onFloor.length === 0)
    return inRoom.length > 0 ? inRoom : `There is no ${kind} in ${quote(room)}. Nothing was done.`
  return onFloor
}

function isFloorNamed(floor: string, room: string): boolean {
  const words = new Set(meaningfulWords(floor))
  return meaningfulWords(room).some((word) => words.has(word) && kindOfWord(word) === undefined)
}
