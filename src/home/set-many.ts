/**
 * Set many: what is meant by "everything off except the hall lamp", and setting it, each thing through its family's own
 * tool. What is dangerous, or has to run on, is never meant.
 *
 * Reads and writes through the families' own tools.
 */
import type { Outcome } from '../bus/call.ts'
import type { HandlerContext } from '../bus/call-options.ts'
import type { JsonObject } from '../core/json.ts'
import { previewCall, sayPreview } from './call-preview.ts'
import { sayAnswer } from './dependencies.ts'
import type { HomeParts } from './dependencies.ts'
import { findThing, isOnFloorNamed, findRoomsByName } from './find.ts'
import { findThingKind, splitMeaningfulWords } from './home-words.ts'
import { listThingNames, thingJson } from './look-tools.ts'
import type { HomePicture } from './picture.ts'
import { quoteText, sayCount, sayList } from './say.ts'
import { isChangeConfirmed, addHomeseerClaims } from './set-outcome.ts'
import { mayBeSetWithOthers } from './thing.ts'
import type { Thing, ThingCall } from './thing.ts'
import { chooseThingControl } from './wish.ts'

export const MANY_KINDS = ['light', 'switch', 'blind', 'fan', 'speaker', 'screen'] as const
const MAX_MANY = 120
const MAX_NAMED = 8
const AT_ONCE = 8
/** What somebody who wants everything off does not mean. */
const RUNS_ON =
  /fridge|refrigerator|freezer|kuehl|gefrier|server|router|modem|network|netzwerk|nas\b|switch port|aquarium|terrarium|pump|medical|cpap|alarm|heiz|boiler|sump|ups\b/

interface ManyWish {
  readonly room?: string
  readonly kind?: (typeof MANY_KINDS)[number]
  readonly to: string | number | boolean
  readonly except: readonly string[]
  readonly why: string
  readonly preview: boolean
}

interface ManySetting {
  readonly wish: ManyWish
  readonly context: HandlerContext
  readonly picture: HomePicture
}

interface AbleThing {
  readonly one: Thing
  readonly call: ThingCall
}

export async function setMany(parts: HomeParts, { wish, context, picture }: ManySetting): Promise<Outcome> {
  const meant = thingsMeant(wish, picture)
  if ('answer' in meant) return meant.answer
  const able = meant.things.flatMap((one): readonly AbleThing[] => {
    const control = chooseThingControl(one, wish.to)
    return control.ok ? [{ one, call: addHomeseerClaims(control.value.call, wish) }] : []
  })
  const noun = wish.kind ?? 'thing'
  const to = quoteText(String(wish.to))
  if (able.length === 0) return sayAnswer(`No ${noun} there can be set to ${to}. Nothing was done.`)
  if (able.length > MAX_MANY)
    return sayAnswer(
      `That is ${sayCount(able.length, noun)}: more than ${MAX_MANY} at once. Name a room. Nothing was done.`,
    )
  if (wish.preview) return previewMany(parts, able, { context, what: `${sayCount(able.length, noun)} to ${to}` })
  return carryOutAll(able, { context, wish, noun })
}

async function previewMany(
  parts: HomeParts,
  able: readonly AbleThing[],
  { context, what }: { readonly context: HandlerContext; readonly what: string },
): Promise<Outcome> {
  const names = able.slice(0, MAX_NAMED).map(({ one }) => quoteText(one.name))
  const previews = await Promise.all(able.map(({ call }) => previewCall(parts, call, context)))
  const asksPerson = previews.some((preview) => preview.ok && preview.value.asksPerson)
  const refused = previews.filter((preview) => !preview.ok).length
  const more = able.length > names.length ? [`${able.length - names.length} more`] : []
  return sayPreview(
    `This would set ${what}: ${sayList([...names, ...more])}.${refused === 0 ? '' : ` ${refused} would be refused.`}`,
    { asksPerson },
    { count: able.length - refused },
  )
}

async function carryOutAll(
  able: readonly AbleThing[],
  { context, wish, noun }: { readonly context: HandlerContext; readonly wish: ManyWish; readonly noun: string },
): Promise<Outcome> {
  const set: { readonly one: Thing; readonly isVerified: boolean }[] = []
  const [failed, waiting]: [JsonObject[], JsonObject[]] = [[], []]
  const queue = [...able]
  const work = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined && !context.signal.aborted; next = queue.shift()) {
      const { one, call } = next
      const outcome = await context.call(call.tool, call.arguments)
      if (outcome.ok) set.push({ one, isVerified: isChangeConfirmed(outcome.value.data) })
      else if (outcome.fault.kind === 'approval-required')
        waiting.push({ name: quoteText(one.name), approval: outcome.fault.details?.['approval_id'] ?? '' })
      else failed.push({ name: quoteText(one.name), quoted: quoteText(outcome.fault.message) })
    }
  }
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, able.length) }, work))
  const verified = set.filter(({ isVerified }) => isVerified).length
  const to = quoteText(String(wish.to))
  const sentences = [
    `Set ${set.length} of ${sayCount(able.length, noun)} to ${to}; ${verified} read back so.`,
    ...(waiting.length === 0 ? [] : [`${sayCount(waiting.length, 'waits', 'wait')} for a person.`]),
    ...(failed.length === 0 ? [] : [`${failed.length} failed.`]),
    ...(queue.length === 0 ? [] : [`${queue.length} were not tried: the time was over.`]),
  ]
  return sayAnswer(sentences.join(' '), {
    ...(failed.length === 0 ? {} : { failed: failed.slice(0, MAX_NAMED) }),
    ...(waiting.length === 0 ? {} : { waiting: waiting.slice(0, MAX_NAMED) }),
    id: context.traceId,
  })
}

/** How to bring many things back to what they were, for the record alone: nobody reads sixty calls. */
export type SelectedThings = { readonly things: readonly Thing[] } | { readonly answer: Outcome }

/** An answer where nobody can be sure which are meant. */
function thingsMeant({ room, kind, except }: ManyWish, picture: HomePicture): SelectedThings {
  const safe = picture.things.filter(
    (one) =>
      mayBeSetWithOthers(one) &&
      (kind === undefined ? MANY_KINDS.some((each) => each === one.kind) && !runsOn(one) : one.kind === kind),
  )
  const left = leftOut(except, picture)
  if ('answer' in left) return left
  const many = safe.filter((one) => !left.things.includes(one))
  if (room === undefined) return { things: many }
  const places = room.split(/,|&|\band\b|\bund\b/i).filter((place) => place.trim() !== '')
  const found = places.map((place) => ({ place, things: inPlace(place, many, picture) }))
  const unknown = found.find(({ things }) => things === undefined)
  if (unknown !== undefined || found.length === 0)
    return {
      answer: sayAnswer(`There is no room or floor ${quoteText((unknown?.place ?? room).trim())}. Nothing was done.`, {
        ask: 'Which room?',
        rooms: picture.rooms
          .all()
          .slice(0, 30)
          .map(({ name }) => quoteText(name)),
      }),
    }
  return { things: [...new Set(found.flatMap(({ things }) => things ?? []))] }
}

function runsOn({ name, kind }: Thing): boolean {
  return kind === 'switch' && RUNS_ON.test(splitMeaningfulWords(name).join(' '))
}

/** `undefined`: there is no such place. */
function inPlace(place: string, things: readonly Thing[], picture: HomePicture): readonly Thing[] | undefined {
  const rooms = findRoomsByName(place, picture.rooms.all())
  if (rooms.length > 0) return things.filter((one) => rooms.some(({ key }) => key === one.room))
  return picture.things.some((one) => isOnFloorNamed(place, one))
    ? things.filter((one) => isOnFloorNamed(place, one))
    : undefined
}

function leftOut(except: readonly string[], picture: HomePicture): SelectedThings {
  const things: Thing[] = []
  for (const text of except) {
    const found = findThing(text, listThingNames(picture))
    const place = inPlace(text, picture.things, picture)
    const [word, ...others] = splitMeaningfulWords(text)
    const kind = others.length === 0 && word !== undefined ? findThingKind(word) : undefined
    if (found.kind === 'one') things.push(found.thing)
    else if (place !== undefined) things.push(...place)
    else if (kind !== undefined) things.push(...picture.things.filter((one) => one.kind === kind))
    // Several that fit wholly are all left out: leaving one too many alone does no harm.
    else if (found.kind === 'question' && found.whole.length > 0) things.push(...found.whole)
    else
      return {
        answer: sayAnswer(`It is not clear what ${quoteText(text)} is, which is to be left out. Nothing was done.`, {
          ask: 'What is to be left out?',
          ...(found.kind === 'question' ? { things: found.candidates.map((one) => thingJson(one, picture)) } : {}),
        }),
      }
  }
  return { things }
}
