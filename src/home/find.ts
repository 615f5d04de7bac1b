/**
 * Find: which things somebody may mean. Every word that was said has to be accounted for by a thing's name, its room, its
 * floor or its kind; a thing that leaves a word over is a candidate at best, and never an answer.
 *
 * Pure.
 */
import { fold, kindOfWord, knownRoom, meaningfulWords } from './home-words.ts'
import type { ThingKind } from './home-words.ts'
import type { Room } from './room.ts'
import type { Thing } from './thing.ts'

export interface Match {
  readonly thing: Thing
  /** 0 to 1. */
  readonly score: number
  /** Every word was accounted for. */
  readonly isWhole: boolean
}

export type Found =
  | { readonly kind: 'one'; readonly thing: Thing }
  /** Several fit as well, or none fits wholly: best first, to be asked about. */
  | { readonly kind: 'question'; readonly candidates: readonly Thing[] }
  | { readonly kind: 'none' }

interface Directory {
  readonly things: readonly Thing[]
  readonly room: (key: string) => Room | undefined
}

const MAX_CANDIDATES = 6
/** Below this a candidate is not worth asking about. */
const WORTH_ASKING = 0.34
const AS_GOOD = 0.12

export function findThing(text: string, directory: Directory, kind?: ThingKind): Found {
  const byHandle = directory.things.find(({ handle }) => handle === text.trim())
  if (byHandle !== undefined) return { kind: 'one', thing: byHandle }
  const matches = matchThings(text, directory, kind)
  const [best] = matches
  if (best === undefined) return { kind: 'none' }
  const asGood = matches.filter(({ isWhole, score }) => isWhole === best.isWhole && score > best.score - AS_GOOD)
  if (best.isWhole && asGood.length === 1) return { kind: 'one', thing: best.thing }
  const named = asGood.filter(({ thing }) => fold(thing.name) === fold(text))
  const [only] = named
  if (best.isWhole && named.length === 1 && only !== undefined) return { kind: 'one', thing: only.thing }
  return { kind: 'question', candidates: matches.slice(0, MAX_CANDIDATES).map(({ thing }) => thing) }
}

/** Best first; what can be told something before what only tells. */
export function matchThings(text: string, { things, room }: Directory, kind?: ThingKind): readonly Match[] {
  const words = meaningfulWords(text)
  if (words.length === 0) return []
  return things
    .filter((thing) => kind === undefined || thing.kind === kind)
    .map((thing) => matchOf(thing, words, thing.room === undefined ? undefined : room(thing.room)))
    .filter(({ score }) => score >= WORTH_ASKING)
    .toSorted((left, right) => right.score - left.score || right.thing.controls.length - left.thing.controls.length)
}

function matchOf(thing: Thing, words: readonly string[], room: Room | undefined): Match {
  const nameWords = meaningfulWords(thing.name)
  const roomWords = (room?.aliases ?? []).flatMap(meaningfulWords)
  const floorWords = meaningfulWords(thing.floor ?? '')
  let [sum, left] = [0, 0]
  const hit = new Set<string>()
  for (const word of words) {
    const named = nameWords.find((each) => isSameWord(each, word))
    if (named !== undefined) hit.add(named)
    if (named !== undefined) sum += 1
    else if (roomWords.some((each) => isSameWord(each, word)) || isRoom(word, room)) sum += 0.9
    else if (kindOfWord(word) === thing.kind) sum += 0.85
    else if (floorWords.some((each) => isSameWord(each, word)) || isFloor(word, thing)) sum += 0.6
    else left += 1
  }
  // How much of its own name was said tells the hall lamp from the hall lamp sensor.
  const share = nameWords.length === 0 ? 0 : hit.size / nameWords.length
  const score = (sum / words.length) * (0.7 + 0.3 * share)
  return { thing, score: left === 0 ? score : score * 0.7, isWhole: left === 0 }
}

function isRoom(word: string, room: Room | undefined): boolean {
  const known = knownRoom(word)
  return (
    known !== undefined &&
    room !== undefined &&
    (room.key === known || room.aliases.some((alias) => knownRoom(alias) === known))
  )
}

function isFloor(word: string, { floor }: Thing): boolean {
  const known = knownRoom(word)
  return known !== undefined && floor !== undefined && knownRoom(floor) === known
}

/** Long words may differ in one letter: a slip of the pen, or a language model's spelling. */
function isSameWord(left: string, right: string): boolean {
  if (left === right) return true
  const [leftKind, rightKind] = [kindOfWord(left), kindOfWord(right)]
  if (leftKind !== undefined && leftKind === rightKind) return true
  return Math.min(left.length, right.length) >= 5 && isOneEditApart(left, right)
}

function isOneEditApart(left: string, right: string): boolean {
  const [short, long] = left.length <= right.length ? [left, right] : [right, left]
  if (long.length - short.length > 1) return false
  let index = 0
  while (index < short.length && short[index] === long[index]) index++
  const skip = long.length === short.length ? 1 : 0
  return short.slice(index + skip) === long.slice(index + 1)
}
