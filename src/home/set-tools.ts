/**
 * Set tools: change one thing, or many of a harmless kind, each through its family's own tool in the caller's name.
 *
 * An answer has an `id` with which `undo` restores the previous state, as far as it is known.
 *
 * Reads and writes through the families' own tools.
 */
import { z } from 'zod'
import type { Outcome } from '../bus/call.ts'
import type { Capability } from '../bus/capability.ts'
import { defineChange } from '../bus/capability-definition.ts'
import type { HandlerContext } from '../bus/call-factory.ts'
import type { Fault } from '../core/fault.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { fail } from '../core/result.ts'
import { previewCallApproval, createPreviewAnswer } from './call-preview.ts'
import {
  DELEGATING_HOME_TOOL_DEFAULTS,
  previewArgument,
  createSentenceAnswer,
  thingArgument,
  reasonForChangeArgument,
} from './home-dependencies.ts'
import type { HomeDependencies } from './home-dependencies.ts'
import { readDeviceRestoreCall } from './voice-device-things.ts'
import { findThingByText } from './thing-search.ts'
import type { ThingSearchResult } from './thing-search.ts'
import { isPluralText } from './home-words.ts'
import { readTextAt } from './json-path.ts'
import { toThingJson } from './home-lookup-tools.ts'
import { readHomeSnapshot } from './home-snapshot.ts'
import type { HomeSnapshot } from './home-snapshot.ts'
import { capitaliseSentence, quoteForSentence, formatList } from './sentence-text.ts'
import { KINDS_SETTABLE_TOGETHER, setManyThings } from './set-many-things.ts'
import { isChangeReadBack, addHomeseerGuardArguments } from './change-call-and-read-back.ts'
import { mayBeSetInGroup } from './thing.ts'
import type { Thing } from './thing.ts'
import { chooseThingControl, isStateQuestion } from './thing-control-choice.ts'

const MAX_NAMED = 8

const wanted = z
  .union([z.string().min(1).max(60), z.number(), z.boolean()])
  .describe('on, off, open, close, lock, unlock, a number (percent or °C), or a word of its own.')

export function createSetTools(parts: HomeDependencies): readonly Capability[] {
  return [
    defineChange({
      ...DELEGATING_HOME_TOOL_DEFAULTS,
      name: 'home_set',
      title: 'Change a thing',
      description: 'Sets one thing and says what was verified; locks and doors wait for a person. `id` can be undone.',
      input: z.strictObject({
        thing: thingArgument,
        to: wanted,
        why: reasonForChangeArgument,
        preview: previewArgument,
      }),
      act: async (_, input, context) => {
        const picture = await readHomeSnapshot(parts, context)
        if (isStateQuestion(input.thing) || isStateQuestion(String(input.to))) return answerQuestion(input.thing)
        const isAble = (one: Thing): boolean => chooseThingControl(one, input.to).ok
        const found = findThingByText(input.thing, picture, { isAble })
        if (found.kind === 'none')
          return createSentenceAnswer(`Nothing here is called ${quoteForSentence(input.thing)}. Nothing was done.`, {
            next: { tool: 'home_overview', arguments: {} },
          })
        if (found.kind === 'question') return askWhich(found, { wish: input, text: input.thing, picture })
        return setOne(parts, found.thing, { wish: input, context, picture })
      },
    }),
    defineChange({
      ...DELEGATING_HOME_TOOL_DEFAULTS,
      name: 'home_set_many',
      title: 'Change many things',
      description:
        'Sets all lights, switches, blinds or fans of rooms, a floor or the home. Never locks, doors, valves, heaters or alarms.',
      input: z.strictObject({
        room: z.string().max(120).exactOptional().describe('A room, several, or a floor; left out: the whole home.'),
        kind: z
          .enum(KINDS_SETTABLE_TOGETHER)
          .exactOptional()
          .describe('Left out: everything that is safe to set together.'),
        to: wanted,
        except: z.array(thingArgument).max(20).default([]).describe('Things, rooms or kinds.'),
        why: reasonForChangeArgument,
        preview: previewArgument,
      }),
      timeoutSeconds: 120,
      act: async (_, wish, context) => {
        if (isStateQuestion(String(wish.to)) || isStateQuestion(wish.room ?? '')) return answerQuestion(wish.room)
        return setManyThings(parts, { wish, context, picture: await readHomeSnapshot(parts, context) })
      },
    }),
  ]
}

interface SetWish {
  readonly to: string | number | boolean
  readonly why: string
  readonly preview: boolean
}

/** The caller asked a question, which never changes anything. */
function answerQuestion(of: string | undefined): Outcome {
  const next =
    of === undefined ? { tool: 'home_overview', arguments: {} } : { tool: 'home_state', arguments: { of: [of] } }
  return createSentenceAnswer(`That is a question: ${next.tool} answers it. Nothing was done.`, { next })
}

/** Asks which of several things is meant; for things of one harmless kind, offers the call that sets them all. */
function askWhich(
  { candidates, whole }: Extract<ThingSearchResult, { readonly kind: 'question' }>,
  { wish, text, picture }: { readonly wish: SetWish; readonly text: string; readonly picture: HomeSnapshot },
): Outcome {
  const able = whole.filter((one) => chooseThingControl(one, wish.to).ok)
  const [first] = able
  const kind = KINDS_SETTABLE_TOGETHER.find((each) => each === first?.kind)
  const areAlike =
    able.length > 1 && kind !== undefined && able.every((one) => one.kind === kind && mayBeSetInGroup(one))
  const rooms = new Set(able.map(({ room }) => room))
  const room = rooms.size === 1 && first?.room !== undefined ? picture.rooms.get(first.room)?.name : undefined
  const others = picture.things.filter((one) => one.kind === kind && (room === undefined || one.room === first?.room))
  const all: JsonObject = {
    // The search also understands a quoted room.
    ...(room === undefined ? {} : { room: quoteForSentence(room) }),
    kind: kind ?? 'light',
    to: wish.to,
    // Things of the same kind and place that were not requested.
    except: others.filter((one) => !able.includes(one)).map(({ handle }) => handle),
    why: wish.why,
  }
  const isOffered = areAlike && (isPluralText(text) || able.length <= 12) && others.length - able.length <= 20
  return createSentenceAnswer(
    `${quoteForSentence(text)} may mean ${whole.length > 1 ? `${whole.length} things` : 'one of these'}. Nothing was done.`,
    {
      ask: isOffered && isPluralText(text) ? 'All of them?' : 'Which one?',
      things: (able.length === 0 ? candidates : able.slice(0, candidates.length)).map((each) =>
        toThingJson(each, picture),
      ),
      ...(isOffered ? { next: { tool: 'home_set_many', arguments: all } } : {}),
      // `Bathroom, 23 degrees`: a place alone is not acted on, but only one of its things takes degrees.
      ...(able.length === 1 && first !== undefined
        ? { next: { tool: 'home_set', arguments: { thing: first.handle, to: wish.to, why: wish.why } } }
        : {}),
    },
  )
}

interface Setting {
  readonly wish: SetWish
  readonly context: HandlerContext
  readonly picture: HomeSnapshot
}

async function setOne(parts: HomeDependencies, one: Thing, { wish, context, picture }: Setting): Promise<Outcome> {
  const control = chooseThingControl(one, wish.to)
  if (!control.ok)
    return createSentenceAnswer(refusalOf(one, wish.to, control.fault), { things: [toThingJson(one, picture)] })
  const { newState } = control.value
  const call = addHomeseerGuardArguments(control.value.call, wish)
  if (wish.preview) {
    const preview = await previewCallApproval(parts, call, context)
    if (!preview.ok) return fail(withLabel(preview.fault, one))
    return createPreviewAnswer(
      `${capitaliseSentence(quoteForSentence(one.name))} would be set to ${quoteForSentence(newState)}.`,
      preview.value,
    )
  }
  const restore = await readDeviceRestoreCall(parts, call, context)
  const outcome = await context.call(call.tool, call.arguments)
  if (!outcome.ok) return fail(withLabel(outcome.fault, one))
  const { data } = outcome.value
  const shown = readTextAt(data, 'verification', 'observed', 'status')
  return createSentenceAnswer(setSentence(one, newState, { shown, data }), {
    things: [{ ...toThingJson(one, picture), ...(shown === undefined ? {} : { quoted: quoteForSentence(shown) }) }],
    id: context.traceId,
    ...(restore === undefined ? {} : { undo: { ...restore } }),
  })
}

/** The sentence for the result. It says `verified` only if the change was read back. */
function setSentence(one: Thing, newState: string, { shown, data }: { shown: string | undefined; data: Json }): string {
  const name = capitaliseSentence(quoteForSentence(one.name))
  const state = readTextAt(data, 'verification', 'outcome')
  if (state === 'still_moving') return `${name} is on its way to ${quoteForSentence(newState)}.`
  if (isChangeReadBack(data))
    return `${name} is ${shown === undefined ? quoteForSentence(newState) : quoteForSentence(shown)}, read back.`
  return `${name} was told ${quoteForSentence(newState)}${shown === undefined ? '; it does not report back' : ` and shows ${quoteForSentence(shown)}`}.`
}

function refusalOf(one: Thing, to: SetWish['to'], can: readonly string[]): string {
  const name = capitaliseSentence(quoteForSentence(one.name))
  if (can.length === 0)
    return one.kind === 'other'
      ? `${name} cannot be set with this tool. Nothing was done.`
      : `${name} cannot be told anything: it only tells. Nothing was done.`
  return `${name} cannot be set to ${quoteForSentence(String(to))}. It takes ${formatList(can.slice(0, MAX_NAMED).map(quoteForSentence))}. Nothing was done.`
}

function withLabel(fault: Fault, one: Thing): Fault {
  return fault.details?.['label'] === undefined && fault.kind === 'approval-required'
    ? { ...fault, details: { ...fault.details, label: one.name } }
    : fault
}
