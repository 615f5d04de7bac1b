/**
 * Unknown telegram specimen: an unknown telegram of another initiator, kept with its bytes for research.
 *
 * There is one per source, target and request. Bounded by families and within each; the one that was not seen for
 * longest is dropped.
 *
 * Pure, but for the collection it is given.
 */
import { toHex } from '../../core/bytes.ts'
import type { Telegram } from '../wire/telegram.ts'
import type { BusObservation } from './observation.ts'

export interface UnknownTelegramSpecimen {
  /** PB and SB in hex: `B512`. */
  readonly family: string
  readonly firstSeenMs: number
  readonly times: number
  readonly newest: BusObservation
}

interface StoredSpecimen extends UnknownTelegramSpecimen {
  times: number
  newest: BusObservation
}

export const SPECIMEN_COLLECTION_LIMITS = { families: 64, perFamily: 32 } as const

export class SpecimenCollection {
  readonly #families = new Map<number, Map<string, StoredSpecimen>>()
  #others = 0

  /** The number of families that were dropped. */
  get overflow(): number {
    return this.#others
  }

  see(observation: BusObservation): void {
    if (!('telegram' in observation.content)) return
    const { telegram } = observation.content
    const family = (telegram.primary << 8) | telegram.secondary
    const known = this.#families.get(family)
    if (known === undefined && this.#families.size >= SPECIMEN_COLLECTION_LIMITS.families) {
      this.#others++
      return
    }
    const specimens = known ?? new Map<string, StoredSpecimen>()
    if (known === undefined) this.#families.set(family, specimens)
    const key = questionKey(telegram)
    const before = specimens.get(key)
    specimens.delete(key)
    if (before !== undefined) {
      before.times++
      before.newest = observation
      specimens.set(key, before)
      return
    }
    if (specimens.size >= SPECIMEN_COLLECTION_LIMITS.perFamily) specimens.delete(specimens.keys().next().value ?? '')
    specimens.set(key, {
      family: toHex(Uint8Array.of(telegram.primary, telegram.secondary)).toUpperCase(),
      firstSeenMs: observation.atMs,
      times: 1,
      newest: observation,
    })
  }

  /** Newest first. */
  all(): readonly UnknownTelegramSpecimen[] {
    return [...this.#families.values()]
      .flatMap((specimens) => [...specimens.values()])
      .toSorted((left, right) => right.newest.atMs - left.newest.atMs)
  }
}

/**
 * Source, target and request as characters: computed for every unknown telegram, for which hex would cost a fifth of
 * the total time.
 */
function questionKey({ source, target, data }: Telegram): string {
  let key = String.fromCharCode(source, target)
  for (const byte of data) key += String.fromCharCode(byte)
  return key
}
