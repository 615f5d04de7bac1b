/**
 * Observation deduplicator: distinguishes a passive copy of our own telegram from another initiator's telegram.
 *
 *   passive ─▶ another source ──────────────────────────────▶ third party, at once
 *           └▶ our source ─▶ waits for its active twin ─┬─▶ found: a copy, dropped
 *                                                       └─▶ not found: another initiator uses our address
 *
 * With an adapter that shows symbols, the sender is known and nothing waits here. Through ebusd the copy and the answer
 * come on two connections in either order. After a gap in the stream twins may be missing, so the results are not
 * reliable for a while: degraded.
 *
 * Pure, but for the deduplicator it is given.
 */
import { toHex } from '../../core/bytes.ts'
import { toCompanionTarget } from '../wire/address.ts'
import { encodeCommandWithoutCrc } from '../wire/telegram.ts'
import type { TelegramExchangeEvent } from './observation.ts'

export type ObservationDisposition = 'own' | 'third_party' | 'local_participant_inbound' | 'duplicate'

export interface ClassifiedObservation {
  readonly event: TelegramExchangeEvent
  readonly disposition: ObservationDisposition
}

export type DeduplicationDegradedReason = 'starting' | 'epoch_reset' | 'critical_overflow' | 'explicit_discontinuity'

/**
 * ebusgo's times for one try, one repetition after a NAK and two SYN of collision: 750 ms envelope, 1,250 grace, 1,750
 * kept.
 */
const GRACE_MS = 1_250
const RETENTION_MS = 1_750
const MAX_PENDING = 256
const HEALTHY_MS = 5_000
const HEALTHY_EVENTS = 10

interface Pending {
  readonly event: TelegramExchangeEvent
  readonly untilMs: number
}

export class ObservationDeduplicator {
  readonly #pending = new Map<string, Pending>()
  readonly #active = new Map<string, number>()
  #degraded: { readonly reason: DeduplicationDegradedReason; readonly sinceMs: number; classified: number } | undefined
  #epoch = 0

  constructor(nowMs: number) {
    this.#degraded = { reason: 'starting', sinceMs: nowMs, classified: 0 }
  }

  get degraded(): DeduplicationDegradedReason | undefined {
    return this.#degraded?.reason
  }

  /** Grows at every gap in the stream. */
  get epoch(): number {
    return this.#epoch
  }

  /** Returns what is certain now: usually the event itself, sometimes nothing yet, sometimes one that waited. */
  handleExchange(
    event: TelegramExchangeEvent,
    ourAddress: number | undefined,
    nowMs: number,
  ): readonly ClassifiedObservation[] {
    // With symbols nothing waits here, so nothing has to be searched.
    const settled = this.#active.size === 0 && this.#pending.size === 0 ? NOTHING : this.tick(nowMs)
    const now = this.#classify(event, ourAddress, nowMs)
    if (now === undefined) return settled
    this.#count(nowMs)
    return settled.length === 0 ? [now] : [...settled, now]
  }

  /** Passive copies without a twin in time are another initiator's telegrams after all. */
  tick(nowMs: number): readonly ClassifiedObservation[] {
    for (const [key, untilMs] of this.#active) {
      if (untilMs > nowMs) break
      this.#active.delete(key)
    }
    if (this.#pending.size === 0) return NOTHING
    const expired: ClassifiedObservation[] = []
    for (const [key, { event, untilMs }] of this.#pending) {
      if (untilMs > nowMs) break
      this.#pending.delete(key)
      expired.push({ event, disposition: 'third_party' })
      this.#count(nowMs)
    }
    this.#recover(nowMs)
    return expired
  }

  /** The stream has a gap: twins from before it will not be found. */
  discontinue(reason: DeduplicationDegradedReason, nowMs: number): void {
    this.#epoch++
    this.#pending.clear()
    this.#active.clear()
    this.#degraded = { reason, sinceMs: nowMs, classified: 0 }
  }

  #classify(
    event: TelegramExchangeEvent,
    ourAddress: number | undefined,
    nowMs: number,
  ): ClassifiedObservation | undefined {
    const { source, target } = event.exchange.telegram
    if (event.own) return this.#classifyOwn(event, nowMs)
    if (ourAddress === undefined || source !== ourAddress) {
      const inbound = ourAddress !== undefined && (target === ourAddress || target === toCompanionTarget(ourAddress))
      return { event, disposition: inbound ? 'local_participant_inbound' : 'third_party' }
    }
    const key = fingerprint(event)
    if (this.#active.delete(key)) return { event, disposition: 'duplicate' }
    if (this.#pending.size >= MAX_PENDING || this.#pending.has(key)) return { event, disposition: 'third_party' }
    this.#pending.set(key, { event, untilMs: nowMs + GRACE_MS })
    return undefined
  }

  #classifyOwn(event: TelegramExchangeEvent, nowMs: number): ClassifiedObservation {
    const key = fingerprint(event)
    // The copy came first and waited; it is the same telegram, and the active one is kept.
    if (!this.#pending.delete(key)) {
      if (this.#active.size >= MAX_PENDING) this.#active.delete(this.#active.keys().next().value ?? '')
      this.#active.delete(key)
      this.#active.set(key, nowMs + RETENTION_MS)
    }
    return { event, disposition: 'own' }
  }

  #count(nowMs: number): void {
    if (this.#degraded === undefined) return
    this.#degraded.classified++
    this.#recover(nowMs)
  }

  #recover(nowMs: number): void {
    const degraded = this.#degraded
    if (degraded === undefined || degraded.classified < HEALTHY_EVENTS || nowMs - degraded.sinceMs < HEALTHY_MS) return
    this.#degraded = undefined
  }
}

const NOTHING: readonly ClassifiedObservation[] = []

/** The participants, the request and the answer, without the time. */
function fingerprint({ exchange: { telegram, response } }: TelegramExchangeEvent): string {
  return `${toHex(encodeCommandWithoutCrc(telegram))}/${response === undefined ? '' : toHex(response)}`
}
