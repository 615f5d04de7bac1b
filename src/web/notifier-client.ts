/**
 * Notifying: tells people, where the owner named a place for it, that calls wait for them.
 *
 *   asked ─▶ untold ─▶ one notice of all that are untold ─▶ told
 *              │           └ not taken: again later, with what came since, while they wait
 *              ▼
 *            answered or lapsed before anybody could be told: there is nothing to tell any more
 *
 * Nobody waits for it: a call is asked about, answered and recorded the same whether a place takes its notices or not.
 *
 * Does I/O: it has timers.
 */
import type { CapabilityBus } from '../bus/bus.ts'
import type { Service } from '../bus/capability.ts'
import type { Config } from '../config/schema.ts'
import { backoffMs } from '../core/backoff.ts'
import type { BackoffSchedule } from '../core/backoff.ts'
import type { Clock } from '../core/clock.ts'
import type { Logger } from '../core/logger.ts'
import { isOutsideTimeSpan } from '../guard/approval.ts'
import type { Approval } from '../guard/approval.ts'
import type { Approvals } from '../guard/approvals.ts'
import { approvalView } from './approval-view.ts'
import { createNotice } from './notice.ts'
import { sendNotice } from './notice-client.ts'
import { explainUndeliveredNotices, resolveNoticePlace } from './notice-place.ts'
import type { NoticePlace, UnusablePlace } from './notice-place.ts'

export interface Notifier {
  /** Says which places took no notice lately. */
  readonly reporter: Pick<Service, 'name' | 'health'>
  readonly stop: () => void
}

export interface NotifierParts {
  readonly config: Pick<Config, 'notify' | 'node'>
  readonly approvals: Pick<Approvals, 'list' | 'subscribe'>
  readonly bus: Pick<CapabilityBus, 'nodeName'>
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  readonly logger: Logger
  readonly pace?: Pace
}

interface Pace {
  /** Between two notices to one place, so that an agent in a loop does not make a phone ring without end. */
  readonly restMs: number
  /** After one that was not taken. */
  readonly again: BackoffSchedule
}

const PACE: Pace = { restMs: 5_000, again: { firstMs: 2_000, maxMs: 60_000, factor: 2 } }

/** `undefined` where nobody is to be told. */
export function startNotifier(parts: NotifierParts): Notifier | undefined {
  const { config, approvals, environment, logger } = parts
  if (config.notify.length === 0) return undefined
  const places = config.notify.map((destination) => resolveNoticePlace(destination, environment))
  const unusable = places.flatMap((place) => (place.ok ? [] : [place.fault]))
  for (const place of unusable) logger.warn(place, 'people are told nothing at one of the places in notify')
  const tellers = places.flatMap((place) => (place.ok ? [new Teller(place.value, parts)] : []))
  const hear = (approval: Approval): void => {
    for (const teller of tellers) teller.hear(approval)
  }
  const leave = approvals.subscribe(({ approval }) => hear(approval))
  // What waits since before this start: whether anybody was told then, nobody knows.
  for (const approval of approvals.list({ state: 'requested' }).toReversed()) hear(approval)
  return {
    reporter: { name: 'notify', health: () => healthOf(tellers, unusable) },
    stop: () => {
      leave()
      for (const teller of tellers) teller.stop()
    },
  }
}

/** One place, and what it has not been told yet. */
class Teller {
  readonly host: string
  /** Why it did not take the last notice. */
  trouble: string | undefined
  taken = 0
  readonly #place: NoticePlace
  readonly #parts: NotifierParts
  readonly #pace: Pace
  /** Open questions only, and of those the guard has a bound. */
  readonly #untold = new Map<string, Approval>()
  readonly #ended = new AbortController()
  #timer: NodeJS.Timeout | undefined
  #isTelling = false
  #failures = 0

  constructor(place: NoticePlace, parts: NotifierParts) {
    this.host = place.host
    this.#place = place
    this.#parts = parts
    this.#pace = parts.pace ?? PACE
  }

  hear(approval: Approval): void {
    if (approval.state === 'requested') this.#untold.set(approval.id, approval)
    else this.#untold.delete(approval.id)
    if (this.#untold.size > 0) this.#tellIn(0)
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#ended.abort()
  }

  /** Unless it is about to be told anyway. */
  #tellIn(ms: number): void {
    if (this.#isTelling || this.#timer !== undefined || this.#ended.signal.aborted) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#tell().catch((error: unknown) => this.#parts.logger.error({ err: error }, 'a notice could not be made'))
    }, ms)
    this.#timer.unref()
  }

  async #tell(): Promise<void> {
    const waiting = this.#waiting()
    if (waiting.length === 0) return
    const { config, bus, clock } = this.#parts
    const notice = createNotice(
      waiting.map((approval) => approvalView(bus, approval)),
      { node: config.node.name, names: this.#place.names, nowMs: clock.now() },
    )
    this.#isTelling = true
    const trouble = await sendNotice(notice, this.#place, this.#ended.signal)
    this.#isTelling = false
    if (this.#ended.signal.aborted) return
    this.#note(trouble)
    if (trouble === undefined) for (const { id } of waiting) this.#untold.delete(id)
    // Also when nothing is left: who is asked about in a moment waits for the rest that this place has.
    this.#tellIn(trouble === undefined ? this.#pace.restMs : backoffMs(this.#pace.again, this.#failures - 1))
  }

  /** The guard closes what has lapsed only when it looks. */
  #waiting(): readonly Approval[] {
    const nowMs = this.#parts.clock.now()
    for (const { id, requestedAtMs, expiresAtMs } of this.#untold.values())
      if (isOutsideTimeSpan({ fromMs: requestedAtMs, untilMs: expiresAtMs }, nowMs)) this.#untold.delete(id)
    return [...this.#untold.values()]
  }

  /** In the log once for each reason. */
  #note(trouble: string | undefined): void {
    const { logger } = this.#parts
    const { host } = this
    if (trouble !== undefined && trouble !== this.trouble)
      logger.warn({ host, trouble }, 'a notice was not taken; it is tried again while the call waits')
    if (trouble === undefined && this.trouble !== undefined) logger.info({ host }, 'notices are taken again')
    this.trouble = trouble
    this.#failures = trouble === undefined ? 0 : this.#failures + 1
    if (trouble === undefined) this.taken += 1
  }
}

function healthOf(tellers: readonly Teller[], unusable: readonly UnusablePlace[]): ReturnType<Service['health']> {
  const failing = [
    ...unusable,
    ...tellers.flatMap(({ host, trouble }) => (trouble === undefined ? [] : [{ host, trouble }])),
  ]
  const details = {
    places: tellers.length + unusable.length,
    notices: tellers.reduce((sum, { taken }) => sum + taken, 0),
  }
  if (failing.length === 0) return { status: 'ok', details }
  const advice = `${explainUndeliveredNotices(failing)} Try it with: hearthbus notify.`
  return { status: 'degraded', details: { advice, ...details } }
}
