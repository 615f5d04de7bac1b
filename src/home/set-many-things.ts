/**
 * Set many things: resolves "everything off except the hall lamp" and sets each thing through its family's own tool.
 * Dangerous things, and those that must keep running, are never included.
 */
import type { Outcome } from '../bus/call.ts'
import type { HandlerContext } from '../bus/call-factory.ts'
import type { JsonObject } from '../core/json.ts'
import { previewCallApproval, createPreviewAnswer } from './call-preview.ts'
import { createSentenceAnswer } from './home-dependencies.ts'
import type { HomeDependencies } from './home-dependencies.ts'
import { findRoomsByName, findThingsOnFloor } from './place-search.ts'
import { findThingByText } from './thing-search.ts'
import { findThingKind, isEverythingText, findThingCommand, splitMeaningfulWords } from './home-words.ts'
import { normaliseText } from './normalised-text.ts'
import { toThingJson } from './home-lookup-tools.ts'
import type { HomeSnapshot } from './home-snapshot.ts'
import { listQuotedNamesUpTo, quoteForSentence, formatCount, formatList } from './sentence-text.ts'
import { isChangeReadBack, addHomeseerGuardArguments } from './change-call-and-read-back.ts'
import { mayBeSetInGroup } from './thing.ts'
import type { Thing, ThingCall } from './thing.ts'
import { chooseThingControl } from './thing-control-choice.ts'

export const KINDS_SETTABLE_TOGETHER = ['light', 'switch', 'blind', 'fan', 'speaker', 'screen'] as const
const MAX_MANY = 120
const MAX_NAMED = 8
const AT_ONCE = 8
/** Things that must keep running: "everything off" does not include them. */
const RUNS_ON =
  /fridge|refrigerator|freezer|kuehl|gefrier|server|router|modem|network|netzwerk|nas\b|switch port|aquarium|terrarium|pump|medical|cpap|alarm|heiz|boiler|sump|\bups\b/

interface ManyWish {
  readonly room?: string
  readonly kind?: (typeof KINDS_SETTABLE_TOGETHER)[number]
  readonly to: string | number | boolean
  readonly except: readonly string[]
  readonly why: string
  readonly preview: boolean
}

interface ManySetting {
  readonly wish: ManyWish
  readonly context: HandlerContext
  readonly picture: HomeSnapshot
}

interface AbleThing {
  readonly one: Thing
  readonly call: ThingCall
}

export async function setManyThings(
  parts: HomeDependencies,
  { wish, context, picture }: ManySetting,
): Promise<Outcome> {
  const meant = thingsMeant(wish, picture)
  if ('answer' in meant) return meant.answer
  const running = meant.things.filter(mustKeepRunning)
  const able = meant.things.flatMap((one): readonly AbleThing[] => {
    const control = isSetTogether(one, wish.to) ? chooseThingControl(one, wish.to) : undefined
    return control?.ok === true ? [{ one, call: addHomeseerGuardArguments(control.value.call, wish) }] : []
  })
  const noun = wish.kind ?? 'thing'
  const to = quoteForSentence(String(wish.to))
  if (able.length === 0) return createSentenceAnswer(`No ${noun} there can be set to ${to}. Nothing was done.`)
  const kinds = [...new Set(able.map(({ one }) => one.kind))]
  // `50` may be a brightness, a position or a volume, so the things must be of one kind.
  if (kinds.length > 1 && findThingCommand(String(wish.to)) === undefined)
    return createSentenceAnswer(
      `${to} fits ${formatList(kinds.map((kind) => PLURALS[kind] ?? kind))}. Nothing was done.`,
      { ask: 'Which kind?', kinds },
    )
  if (able.length > MAX_MANY)
    return createSentenceAnswer(
      `That is ${countNoun(able.length, noun)}: more than ${MAX_MANY} at once. Name a room. Nothing was done.`,
    )
  if (wish.preview) return previewMany(parts, able, { context, what: `${countNoun(able.length, noun)} to ${to}` })
  return carryOutAll(able, { context, wish, noun, running })
}

const PLURALS: Readonly<Record<string, string>> = {
  light: 'lights',
  switch: 'switches',
  blind: 'blinds',
  fan: 'fans',
  speaker: 'speakers',
  screen: 'screens',
}

function countNoun(number: number, noun: string): string {
  return formatCount(number, noun, PLURALS[noun])
}

/**
 * Whether a thing is set together with others. A blind is neither on nor off, and a thing that must keep running is
 * only switched by its name.
 */
function isSetTogether(one: Thing, to: ManyWish['to']): boolean {
  const command = findThingCommand(String(to))
  return !mustKeepRunning(one) && !(one.kind === 'blind' && (command === 'on' || command === 'off'))
}

async function previewMany(
  parts: HomeDependencies,
  able: readonly AbleThing[],
  { context, what }: { readonly context: HandlerContext; readonly what: string },
): Promise<Outcome> {
  const previews = await Promise.all(able.map(({ call }) => previewCallApproval(parts, call, context)))
  const asksPerson = previews.some((preview) => preview.ok && preview.value.asksPerson)
  const refused = previews.filter((preview) => !preview.ok).length
  return createPreviewAnswer(
    `This would set ${what}: ${formatList(
      listQuotedNamesUpTo(
        able.map(({ one }) => one),
        MAX_NAMED,
      ),
    )}.${refused === 0 ? '' : ` ${refused} would be refused.`}`,
    { asksPerson },
    { count: able.length - refused },
  )
}

async function carryOutAll(
  able: readonly AbleThing[],
  {
    context,
    wish,
    noun,
    running,
  }: {
    readonly context: HandlerContext
    readonly wish: ManyWish
    readonly noun: string
    readonly running: readonly Thing[]
  },
): Promise<Outcome> {
  const set: { readonly one: Thing; readonly isVerified: boolean }[] = []
  const [failed, waiting]: [JsonObject[], JsonObject[]] = [[], []]
  const queue = [...able]
  const work = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined && !context.signal.aborted; next = queue.shift()) {
      const { one, call } = next
      const outcome = await context.call(call.tool, call.arguments)
      if (outcome.ok) set.push({ one, isVerified: isChangeReadBack(outcome.value.data) })
      else if (outcome.fault.kind === 'approval-required')
        waiting.push({ name: quoteForSentence(one.name), approval: outcome.fault.details?.['approval_id'] ?? '' })
      else failed.push({ name: quoteForSentence(one.name), quoted: quoteForSentence(outcome.fault.message) })
    }
  }
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, able.length) }, work))
  const verified = set.filter(({ isVerified }) => isVerified).length
  const to = quoteForSentence(String(wish.to))
  const sentences = [
    `Set ${set.length} of ${countNoun(able.length, noun)} to ${to}; ${verified} read back so.`,
    ...(waiting.length === 0 ? [] : [`${formatCount(waiting.length, 'waits', 'wait')} for a person.`]),
    ...(failed.length === 0 ? [] : [`${failed.length} failed.`]),
    ...(queue.length === 0 ? [] : [`${queue.length} were not tried: the time was over.`]),
    ...(running.length === 0 ? [] : [`Left as they are: ${formatList(listQuotedNamesUpTo(running, MAX_NAMED))}.`]),
  ]
  return createSentenceAnswer(sentences.join(' '), {
    ...(failed.length === 0 ? {} : { failed: failed.slice(0, MAX_NAMED) }),
    ...(waiting.length === 0 ? {} : { waiting: waiting.slice(0, MAX_NAMED) }),
    id: context.traceId,
  })
}

/** The selected things, or an answer that says why none could be selected. */
export type ThingSelectionResult = { readonly things: readonly Thing[] } | { readonly answer: Outcome }

/** Returns an answer with a question if it is not clear which things are meant. */
function thingsMeant({ room, kind, except }: ManyWish, picture: HomeSnapshot): ThingSelectionResult {
  const safe = picture.things.filter(
    (one) =>
      mayBeSetInGroup(one) &&
      (kind === undefined ? KINDS_SETTABLE_TOGETHER.some((each) => each === one.kind) : one.kind === kind),
  )
  const left = leftOut(except, picture)
  if ('answer' in left) return left
  const many = safe.filter((one) => !left.things.includes(one))
  if (room === undefined || isEverythingText(room)) return { things: many }
  const places = room.split(/,|&|\band\b|\bund\b/i).filter((place) => place.trim() !== '')
  const found = places.map((place) => ({ place, things: inPlace(place, many, picture) }))
  const several = places.find((place) => findRoomsByName(place, picture.rooms.all()).length > 1)
  if (several !== undefined) return { answer: askWhichRoom(several, picture) }
  const unknown = found.find(({ things }) => things === undefined)
  if (unknown !== undefined || found.length === 0)
    return {
      answer: createSentenceAnswer(
        `There is no room or floor ${quoteForSentence((unknown?.place ?? room).trim())}. Nothing was done.`,
        {
          ask: 'Which room?',
          rooms: picture.rooms
            .all()
            .slice(0, 30)
            .map(({ name }) => quoteForSentence(name)),
        },
      ),
    }
  return { things: [...new Set(found.flatMap(({ things }) => things ?? []))] }
}

/** Asks which room is meant: a word that may mean two rooms is not taken for both. */
function askWhichRoom(place: string, picture: HomeSnapshot): Outcome {
  const rooms = findRoomsByName(place, picture.rooms.all()).map(({ name }) => quoteForSentence(name))
  return createSentenceAnswer(`${quoteForSentence(place.trim())} may be ${formatList(rooms)}. Nothing was done.`, {
    ask: 'Which room?',
    rooms,
  })
}

function mustKeepRunning({ name, kind }: Thing): boolean {
  return kind === 'switch' && RUNS_ON.test(normaliseText(name))
}

/**
 * Things in a room or on a floor; `undefined` when there is no such place. One family's room may be another family's
 * floor.
 */
function inPlace(place: string, things: readonly Thing[], picture: HomeSnapshot): readonly Thing[] | undefined {
  const rooms = findRoomsByName(place, picture.rooms.all())
  const onFloor = new Set(findThingsOnFloor(place, picture.things))
  const isHere = (one: Thing): boolean => rooms.some(({ key }) => key === one.room) || onFloor.has(one)
  return rooms.length > 0 || picture.things.some(isHere) ? things.filter(isHere) : undefined
}

function leftOut(except: readonly string[], picture: HomeSnapshot): ThingSelectionResult {
  const things: Thing[] = []
  for (const text of except) {
    const found = findThingByText(text, picture)
    const place = inPlace(text, picture.things, picture)
    const [word, ...others] = splitMeaningfulWords(text)
    const kind = others.length === 0 && word !== undefined ? findThingKind(word) : undefined
    if (found.kind === 'one') things.push(found.thing)
    else if (place !== undefined) things.push(...place)
    else if (kind !== undefined) things.push(...picture.things.filter((one) => one.kind === kind))
    // Several exact matches are all excluded: excluding one too many does no harm.
    else if (found.kind === 'question' && found.whole.length > 0) things.push(...found.whole)
    else
      return {
        answer: createSentenceAnswer(
          `It is not clear what ${quoteForSentence(text)} is, which is to be left out. Nothing was done.`,
          {
            ask: 'What is to be left out?',
            ...(found.kind === 'question' ? { things: found.candidates.map((one) => toThingJson(one, picture)) } : {}),
          },
        ),
      }
  }
  return { things }
}
