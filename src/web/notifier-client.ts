/**
 * Notifier: notifies people, at the destinations that the owner configured, that calls wait for them.
 *
 *   requested ─▶ unsent ─▶ one notice of all unsent requests ─▶ sent
 *              │           └ not accepted: again later, with newer requests, while they wait
 *              ▼
 *            answered or lapsed before a notice was accepted: none is sent any more
 *
 * No call waits for it: approvals work the same whether a destination accepts its notices or not.
 */
import type { CapabilityBus } from '../bus/bus.ts'
import type { Service } from '../bus/capability.ts'
import type { Config } from '../config/schema.ts'
import { computeBackoffMs } from '../core/backoff.ts'
import type { BackoffSchedule } from '../core/backoff.ts'
import type { Clock } from '../core/clock.ts'
import type { Logger } from '../core/logger.ts'
import { isOutsideValidityPeriod } from '../guard/approval.ts'
import type { Approval } from '../guard/approval.ts'
import type { ApprovalService } from '../guard/approval-service.ts'
import { toApprovalView } from './approval-view.ts'
import { createApprovalNotice } from './notice.ts'
import { postNotice } from './notice-client.ts'
import { examineNoticeDestinations, explainUndeliveredNotices, resolveNoticeDestination } from './notice-destination.ts'
import type { NoticeDestination, UnusableNoticeDestination } from './notice-destination.ts'

export interface RunningNotifier {
  /** Reports the destinations that accepted no notice lately. */
  readonly reporter: Pick<Service, 'name' | 'health' | 'examine'>
  readonly stop: () => void
}

export interface NotifierDependencies {
  readonly config: Pick<Config, 'notify' | 'node'>
  readonly approvals: Pick<ApprovalService, 'list' | 'subscribe'>
  readonly bus: Pick<CapabilityBus, 'nodeName'>
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  readonly logger: Logger
  readonly pace?: Pace
}

interface Pace {
  /**
   * The pause between two notices to one destination, so that an agent in a loop does not make a phone ring all the
   * time.
   */
  readonly restMs: number
  /** The waits after a notice that was not accepted. */
  readonly again: BackoffSchedule
}

const PACE: Pace = { restMs: 5_000, again: { firstMs: 2_000, maxMs: 60_000, factor: 2 } }

/** Returns `undefined` where no destination is configured. */
export function startNotifier(parts: NotifierDependencies): RunningNotifier | undefined {
  const { config, approvals, environment, logger } = parts
  if (config.notify.length === 0) return undefined
  const places = config.notify.map((destination) => resolveNoticeDestination(destination, environment))
  const unusable = places.flatMap((place) => (place.ok ? [] : [place.fault]))
  for (const place of unusable) logger.warn(place, 'notices do not reach one of the destinations in notify')
  const notifiers = places.flatMap((place) => (place.ok ? [new DestinationNotifier(place.value, parts)] : []))
  const update = (approval: Approval): void => {
    for (const notifier of notifiers) notifier.update(approval)
  }
  const leave = approvals.subscribe(({ approval }) => update(approval))
  // Requests that were opened before this start are notified as well: it is not known whether a notice was sent then.
  for (const approval of approvals.list({ state: 'requested' }).toReversed()) update(approval)
  return {
    reporter: {
      name: 'notify',
      health: () => healthOf(notifiers, unusable),
      examine: async () => examineNoticeDestinations(config.notify, environment, failingOf(notifiers, unusable)),
    },
    stop: () => {
      leave()
      for (const notifier of notifiers) notifier.stop()
    },
  }
}

/** One destination, and the requests that it was not notified of yet. */
class DestinationNotifier {
  readonly host: string
  /** Why it did not accept the last notice. */
  trouble: string | undefined
  taken = 0
  readonly #place: NoticeDestination
  readonly #parts: NotifierDependencies
  readonly #pace: Pace
  /** The requests without a notice. These are open requests only, whose number the guard bounds. */
  readonly #unsent = new Map<string, Approval>()
  readonly #ended = new AbortController()
  #timer: NodeJS.Timeout | undefined
  #isSending = false
  #failures = 0

  constructor(place: NoticeDestination, parts: NotifierDependencies) {
    this.host = place.host
    this.#place = place
    this.#parts = parts
    this.#pace = parts.pace ?? PACE
  }

  update(approval: Approval): void {
    if (approval.state === 'requested') this.#unsent.set(approval.id, approval)
    else this.#unsent.delete(approval.id)
    if (this.#unsent.size > 0) this.#sendIn(0)
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#ended.abort()
  }

  /** Does nothing if a notice is about to be sent anyway. */
  #sendIn(ms: number): void {
    if (this.#isSending || this.#timer !== undefined || this.#ended.signal.aborted) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#send().catch((error: unknown) => this.#parts.logger.error({ err: error }, 'a notice could not be made'))
    }, ms)
    this.#timer.unref()
  }

  async #send(): Promise<void> {
    const waiting = this.#waiting()
    if (waiting.length === 0) return
    const { config, bus, clock } = this.#parts
    const notice = createApprovalNotice(
      waiting.map((approval) => toApprovalView(bus, approval)),
      { node: config.node.name, names: this.#place.names, nowMs: clock.now() },
    )
    this.#isSending = true
    const trouble = await postNotice(notice, this.#place, this.#ended.signal)
    this.#isSending = false
    if (this.#ended.signal.aborted) return
    this.#note(trouble)
    if (trouble === undefined) for (const { id } of waiting) this.#unsent.delete(id)
    // Also runs when nothing is left: a request that arrives soon has to wait for this destination's pause.
    this.#sendIn(trouble === undefined ? this.#pace.restMs : computeBackoffMs(this.#pace.again, this.#failures - 1))
  }

  /** The guard closes lapsed requests only when it sweeps. */
  #waiting(): readonly Approval[] {
    const nowMs = this.#parts.clock.now()
    for (const { id, requestedAtMs, expiresAtMs } of this.#unsent.values())
      if (isOutsideValidityPeriod({ fromMs: requestedAtMs, untilMs: expiresAtMs }, nowMs)) this.#unsent.delete(id)
    return [...this.#unsent.values()]
  }

  /** Logged once for each reason. */
  #note(trouble: string | undefined): void {
    const { logger } = this.#parts
    const { host } = this
    if (trouble !== undefined && trouble !== this.trouble)
      logger.warn({ host, trouble }, 'a notice was not accepted; it is tried again while the call waits')
    if (trouble === undefined && this.trouble !== undefined) logger.info({ host }, 'notices are accepted again')
    this.trouble = trouble
    this.#failures = trouble === undefined ? 0 : this.#failures + 1
    if (trouble === undefined) this.taken += 1
  }
}

function failingOf(
  notifiers: readonly DestinationNotifier[],
  unusable: readonly UnusableNoticeDestination[],
): readonly UnusableNoticeDestination[] {
  return [...unusable, ...notifiers.flatMap(({ host, trouble }) => (trouble === undefined ? [] : [{ host, trouble }]))]
}

function healthOf(
  notifiers: readonly DestinationNotifier[],
  unusable: readonly UnusableNoticeDestination[],
): ReturnType<Service['health']> {
  const failing = failingOf(notifiers, unusable)
  const details = {
    places: notifiers.length + unusable.length,
    notices: notifiers.reduce((sum, { taken }) => sum + taken, 0),
  }
  if (failing.length === 0) return { status: 'ok', details }
  const advice = `${explainUndeliveredNotices(failing)} Try it with: hearthbus notify.`
  return { status: 'degraded', details: { advice, ...details } }
}
