/**
 * Specimen: a telegram of somebody else's that no table explains, kept with its bytes for whoever wants to find out.
 *
 * One per question: who asked whom what. Bounded by families and within each; the one that was not seen for longest
 * makes room.
 *
 * Pure, but for the book it is given.
 */
import { toHex } from '../../core/bytes.ts'
import type { BusObservation } from './observation.ts'
import { observationHex } from './observation.ts'

export interface TelegramSpecimen {
  /** PB and SB in hex: `B512`. */
  readonly family: string
  readonly firstSeenMs: number
  readonly times: number
  readonly newest: BusObservation
}

export const SPECIMEN_LIMITS = { families: 64, perFamily: 32 } as const

export class SpecimenBook {
  readonly #families = new Map<string, Map<string, TelegramSpecimen>>()
  #others = 0

  /** Families that found no room. */
  get overflow(): number {
    return this.#others
  }

  see(observation: BusObservation): void {
    if (!('telegram' in observation.said)) return
    const { telegram } = observation.said
    const family = toHex(Uint8Array.of(telegram.primary, telegram.secondary)).toUpperCase()
    const known = this.#families.get(family)
    if (known === undefined && this.#families.size >= SPECIMEN_LIMITS.families) {
      this.#others++
      return
    }
    const specimens = known ?? new Map<string, TelegramSpecimen>()
    if (known === undefined) this.#families.set(family, specimens)
    const key = observationHex(observation).request
    const before = specimens.get(key)
    specimens.delete(key)
    if (specimens.size >= SPECIMEN_LIMITS.perFamily) specimens.delete(specimens.keys().next().value ?? '')
    specimens.set(key, {
      family,
      firstSeenMs: before?.firstSeenMs ?? observation.atMs,
      times: (before?.times ?? 0) + 1,
      newest: observation,
    })
  }

  /** Newest first. */
  all(): readonly TelegramSpecimen[] {
    return [...this.#families.values()]
      .flatMap((specimens) => [...specimens.values()])
      .toSorted((left, right) => right.newest.atMs - left.newest.atMs)
  }
}
