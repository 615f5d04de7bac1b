/**
 * Tool index: tools ranked by how well words fit their names, titles, descriptions and arguments (Okapi BM25).
 *
 * Rebuilt when the offers change.
 */
import type { Offer } from '../bus/capability.ts'
import { isJsonObject } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import { findThingKind, splitMeaningfulWords } from './home-words.ts'
import { findCanonicalRoomName } from './room-words.ts'
import { findMainSynonym } from './synonyms.ts'

/** Term saturation and length normalisation, as BM25 is usually run. */
const K1 = 1.2
const B = 0.75
/** A word in a name counts more than one in a description. */
const NAME_WEIGHT = 3
/** The description of an argument says less about a tool. */
const ARGUMENT_WEIGHT = 0.3

interface Document {
  readonly offer: Offer
  readonly counts: ReadonlyMap<string, number>
  readonly length: number
}

export class ToolIndex {
  #key = ''
  #documents: readonly Document[] = []
  #frequency = new Map<string, number>()
  #meanLength = 1

  /** Best first; only matches. */
  search(query: string, offers: readonly Offer[]): readonly Offer[] {
    this.#build(offers)
    const words = [...new Set(wordsOf(query))]
    return this.#documents
      .map((document) => ({
        offer: document.offer,
        score: words.reduce((sum, word) => sum + this.#score(document, word), 0),
      }))
      .filter(({ score }) => score > 0)
      .toSorted((left, right) => right.score - left.score)
      .map(({ offer }) => offer)
  }

  #score({ counts, length }: Document, word: string): number {
    const count = counts.get(word) ?? 0
    if (count === 0) return 0
    const having = this.#frequency.get(word) ?? 0
    const rarity = Math.log(1 + (this.#documents.length - having + 0.5) / (having + 0.5))
    return (rarity * count * (K1 + 1)) / (count + K1 * (1 - B + (B * length) / this.#meanLength))
  }

  #build(offers: readonly Offer[]): void {
    const key = offers.map(({ name }) => name).join('\n')
    if (key === this.#key) return
    this.#key = key
    this.#documents = offers.map(documentOf)
    this.#frequency = new Map()
    for (const { counts } of this.#documents)
      for (const word of counts.keys()) this.#frequency.set(word, (this.#frequency.get(word) ?? 0) + 1)
    const total = this.#documents.reduce((sum, { length }) => sum + length, 0)
    this.#meanLength = Math.max(1, total / Math.max(1, this.#documents.length))
  }
}

function documentOf(offer: Offer): Document {
  const counts = new Map<string, number>()
  const count = (text: string, weight: number): void => {
    for (const word of wordsOf(text)) counts.set(word, (counts.get(word) ?? 0) + weight)
  }
  count(offer.name.replaceAll(/[._]/g, ' '), NAME_WEIGHT)
  count(offer.title, NAME_WEIGHT)
  count(offer.description, 1)
  const properties = offer.requestSchema['properties'] as Json | undefined
  for (const [argument, schema] of Object.entries(isJsonObject(properties) ? properties : {})) {
    count(argument.replaceAll(/([a-z])([A-Z])/g, '$1 $2'), 1)
    const about = isJsonObject(schema) ? schema['description'] : undefined
    if (typeof about === 'string') count(about, ARGUMENT_WEIGHT)
  }
  return { offer, counts, length: [...counts.values()].reduce((sum, each) => sum + each, 0) }
}

/** Words are indexed by their meaning: `lamps` and `Licht` under the same word, and so are `errors` and `error`. */
function wordsOf(text: string): readonly string[] {
  return splitMeaningfulWords(text.replaceAll('_', ' ')).map(
    (word) => findThingKind(word) ?? findCanonicalRoomName(word) ?? stem(findMainSynonym(word)),
  )
}

function stem(word: string): string {
  return word.length > 3 && /[^s]s$/.test(word) ? word.slice(0, -1) : word
}
