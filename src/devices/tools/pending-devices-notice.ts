/**
 * Pending devices notice: announces that somebody began to wait, was let in, or gave up. Whoever gives up does so in silence,
 * so the moment at which the next one's time is over is watched for.
 *
 * Pure, apart from waiting.
 */
import type { Clock } from '../../core/clock.ts'
import type { PendingDevice } from '../enrol/enrolment.ts'
import { Throttle } from '../../toolbox/throttle.ts'

/**
 * Too early does no harm. A clock that was set back makes it long, and Node's timers end at 2^31 ms: then they ring at
 * once.
 */
const MAX_WAIT_MS = 3_600_000

/** Strangers cause these changes, and each costs everybody who listens a look. */
export const PENDING_NOTICE_THROTTLE_MS = 200

export interface PendingDevicesNotifierDependencies {
  readonly announce: () => void
  /** Oldest first; looking also clears away those whose time is over, and that is a change. */
  readonly pending: () => readonly Pick<PendingDevice, 'expiresAtMs'>[]
  readonly clock: Pick<Clock, 'now'>
}

export class PendingDevicesNotifier {
  readonly #parts: PendingDevicesNotifierDependencies
  readonly #throttle: Throttle
  #timer: NodeJS.Timeout | undefined

  constructor(parts: PendingDevicesNotifierDependencies) {
    this.#parts = parts
    this.#throttle = new Throttle(() => {
      parts.announce()
      this.#watch()
    }, PENDING_NOTICE_THROTTLE_MS)
  }

  readonly changed = (): void => this.#throttle.trigger()

  close(): void {
    this.#throttle.close()
    clearTimeout(this.#timer)
  }

  readonly #watch = (): void => {
    clearTimeout(this.#timer)
    const [next] = this.#parts.pending()
    if (next === undefined) return
    const waitMs = Math.max(1, next.expiresAtMs - this.#parts.clock.now())
    this.#timer = setTimeout(this.#watch, Math.min(waitMs, MAX_WAIT_MS))
    this.#timer.unref()
  }
}
