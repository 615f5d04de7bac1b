/**
 * Pending devices change notifier: announces that a device began to wait, was approved, or gave up. A device that
 * gives up sends nothing, so a timer watches for the moment at which the next code expires.
 *
 * Pure, apart from waiting.
 */
import type { Clock } from '../../core/clock.ts'
import type { PendingDevice } from '../enrol/enrolment.ts'
import { Throttle } from '../../toolbox/throttle.ts'

/**
 * An early check does no harm. A clock that was set back makes the wait long, and Node's timers have a limit of 2^31
 * ms, beyond which they fire at once.
 */
const MAX_WAIT_MS = 3_600_000

/** Unauthenticated devices cause these changes, and each makes every subscriber read again. */
export const DEVICE_RESOURCE_CHANGE_THROTTLE_MS = 200

export interface PendingDevicesChangeNotifierDependencies {
  readonly announce: () => void
  /** The waiting devices, oldest first. Reading the list also removes those whose time is over, which is a change. */
  readonly pending: () => readonly Pick<PendingDevice, 'expiresAtMs'>[]
  readonly clock: Pick<Clock, 'now'>
}

export class PendingDevicesChangeNotifier {
  readonly #parts: PendingDevicesChangeNotifierDependencies
  readonly #throttle: Throttle
  #timer: NodeJS.Timeout | undefined

  constructor(parts: PendingDevicesChangeNotifierDependencies) {
    this.#parts = parts
    this.#throttle = new Throttle(() => {
      parts.announce()
      this.#watch()
    }, DEVICE_RESOURCE_CHANGE_THROTTLE_MS)
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
