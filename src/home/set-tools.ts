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
import { previewCall, sayPreview } from './call-preview.ts'
import { HOME_TOOL_DEFAULTS, previewArgument, sayAnswer, thingArgument, whyArgument } from './dependencies.ts'
import type { HomeParts } from './dependencies.ts'
import { createRestoreCall } from './device-things.ts'
import { findThing } from './find.ts'
import type { FoundThing } from './find.ts'
import { isPlural } from './home-words.ts'
import { textAt } from './json-path.ts'
import { listThingNames, thingJson } from './look-tools.ts'
import { readHomePicture } from './picture.ts'
import type { HomePicture } from './picture.ts'
import { capitalise, quoteText, sayList } from './say.ts'
import { MANY_KINDS, setMany } from './set-many.ts'
import { isChangeConfirmed, addHomeseerClaims } from './set-outcome.ts'
import { mayBeSetWithOthers } from './thing.ts'
import type { Thing } from './thing.ts'
import { chooseThingControl } from './wish.ts'

const MAX_NAMED = 8

const wanted = z
  .union([z.string().min(1).max(60), z.number(), z.boolean()])
  .describe('on, off, open, close, lock, unlock, a number (percent or °C), or a word of its own.')

/** It only calls on: what it calls is planned, decided about and recorded there. */
const SETS = { ...HOME_TOOL_DEFAULTS, ...CALLS_ON, effect: 'writes', idempotent: false } as const

export function createSetTools(parts: HomeParts): readonly Capability[] {
  return [
    defineChange({
      ...SETS,
      name: 'home_set',
      title: 'Change a thing',
      description: 'Sets one thing and says what was verified; locks and doors wait for a person. `id` can be undone.',
      input: z.strictObject({ thing: thingArgument, to: wanted, why: whyArgument, preview: previewArgument }),
      act: async (_, input, context) => {
        const picture = await readHomePicture(parts, context)
        // A question is never turned into an act.
        if (/[?？]/.test(input.thing)) return sayAnswer('That is a question: home_state answers it. Nothing was done.')
        const isAble = (one: Thing): boolean => chooseThingControl(one, input.to).ok
        const found = findThing(input.thing, listThingNames(picture), { isAble })
        if (found.kind === 'none')
          return sayAnswer(`Nothing here is called ${quoteText(input.thing)}. Nothing was done.`, {
            next: { tool: 'home_overview', arguments: {} },
          })
        if (found.kind === 'question') return askWhich(found, { wish: input, text: input.thing, picture })
        return setOne(parts, found.thing, { wish: input, context, picture })
      },
    }),
    defineChange({
      ...SETS,
      name: 'home_set_many',
      title: 'Change many things',
      description:
        'Sets all lights, switches, blinds or fans of rooms, a floor or the home. Never locks, doors, valves, heaters or alarms.',
      input: z.strictObject({
        room: z.string().max(120).exactOptional().describe('A room, several, or a floor; left out: the whole home.'),
        kind: z.enum(MANY_KINDS).exactOptional().describe('Left out: everything that is safe to set together.'),
        to: wanted,
        except: z.array(thingArgument).max(20).default([]).describe('Things, rooms or kinds.'),
        why: whyArgument,
        preview: previewArgument,
      }),
      timeoutSeconds: 120,
      act: async (_, wish, context) =>
        setMany(parts, { wish, context, picture: await readHomePicture(parts, context) }),
    }),
  ]
}

interface SetWish {
  readonly to: string | number | boolean
  readonly why: string
  readonly preview: boolean
}

/** Where several of one harmless kind are meant, the call that sets them all is offered as it would be made. */
function askWhich(
  { candidates, whole }: Extract<FoundThing, { readonly kind: 'question' }>,
  { wish, text, picture }: { readonly wish: SetWish; readonly text: string; readonly picture: HomePicture },
): Outcome {
  const [first] = whole
  const able = whole.filter((one) => chooseThingControl(one, wish.to).ok)
  const kind = MANY_KINDS.find((each) => each === first?.kind)
  const areAlike =
    able.length > 1 && kind !== undefined && able.every((one) => one.kind === kind && mayBeSetWithOthers(one))
  const rooms = new Set(able.map(({ room }) => room))
  const room = rooms.size === 1 && first?.room !== undefined ? picture.rooms.get(first.room)?.name : undefined
  const others = picture.things.filter((one) => one.kind === kind && (room === undefined || one.room === first?.room))
  const all: JsonObject = {
    // In quotation marks it is found as well.
    ...(room === undefined ? {} : { room: quoteText(room) }),
    kind: kind ?? 'light',
    to: wish.to,
    // Of the same kind and place, but not what was said.
    except: others.filter((one) => !able.includes(one)).map(({ handle }) => handle),
    why: wish.why,
  }
  const isOffered = areAlike && (isPlural(text) || able.length <= 12) && others.length - able.length <= 20
  return sayAnswer(
    `${quoteText(text)} may mean ${whole.length > 1 ? `${whole.length} things` : 'one of these'}. Nothing was done.`,
    {
      ask: isOffered && isPlural(text) ? 'All of them?' : 'Which one?',
      things: candidates.map((each) => thingJson(each, picture)),
      ...(isOffered ? { next: { tool: 'home_set_many', arguments: all } } : {}),
    },
  )
}

interface Setting {
  readonly wish: SetWish
  readonly context: HandlerContext
  readonly picture: HomePicture
}

async function setOne(parts: HomeParts, one: Thing, { wish, context, picture }: Setting): Promise<Outcome> {
  const control = chooseThingControl(one, wish.to)
  if (!control.ok) return sayAnswer(refusalOf(one, wish.to, control.fault), { things: [thingJson(one, picture)] })
  const { told } = control.value
  const call = addHomeseerClaims(control.value.call, wish)
  if (wish.preview) {
    const preview = await previewCall(parts, call, context)
    if (!preview.ok) return fail(withLabel(preview.fault, one))
    return sayPreview(`${capitalise(quoteText(one.name))} would be set to ${quoteText(told)}.`, preview.value)
  }
  const restore = await createRestoreCall(parts, call, context)
  const outcome = await context.call(call.tool, call.arguments)
  if (!outcome.ok) return fail(withLabel(outcome.fault, one))
  const { data } = outcome.value
  const shown = textAt(data, 'verification', 'observed', 'status')
  return sayAnswer(setSentence(one, told, { shown, data }), {
    things: [{ ...thingJson(one, picture), ...(shown === undefined ? {} : { quoted: quoteText(shown) }) }],
    id: context.traceId,
    ...(restore === undefined ? {} : { undo: { ...restore } }),
  })
}

/** Says `verified` only of what was read back. */
function setSentence(one: Thing, told: string, { shown, data }: { shown: string | undefined; data: Json }): string {
  const name = capitalise(quoteText(one.name))
  const state = textAt(data, 'verification', 'outcome')
  if (state === 'still_moving') return `${name} is on its way to ${quoteText(told)}.`
  if (isChangeConfirmed(data))
    return `${name} is ${shown === undefined ? quoteText(told) : quoteText(shown)}, read back.`
  return `${name} was told ${quoteText(told)}${shown === undefined ? '; it does not report back' : ` and shows ${quoteText(shown)}`}.`
}

function refusalOf(one: Thing, to: SetWish['to'], can: readonly string[]): string {
  const name = capitalise(quoteText(one.name))
  if (can.length === 0) return `${name} cannot be told anything: it only tells. Nothing was done.`
  return `${name} cannot be set to ${quoteText(String(to))}. It takes ${sayList(can.slice(0, MAX_NAMED).map(quoteText))}. Nothing was done.`
}

function withLabel(fault: Fault, one: Thing): Fault {
  return fault.details?.['label'] === undefined && fault.kind === 'approval-required'
    ? { ...fault, details: { ...fault.details, label: one.name } }
    : fault
}
