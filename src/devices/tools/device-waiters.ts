/**
 * Device waiters: calls that wait for a condition on a device, bounded in number and time.
 *
 * There is no polling: code that changes a device's state calls `poke`.
 *
 * Pure, apart from waiting.
 */
export type DeviceWaitResult = 'ready' | 'expired' | 'gone' | 'full' | 'too-many-of-one'

export interface DeviceWait {
  readonly key: string
  readonly caller: string
  readonly waitMs: number
  readonly signal: AbortSignal
  readonly isThere: () => boolean
}

interface Waiting {
  readonly look: () => void
  readonly giveUp: () => void
  readonly dismiss: () => void
}

export const MAX_WAITERS_PER_DEVICE = 32
/**
 * As many as `devices.call_many` calls at once, and half of what may wait for a device, so that one caller cannot keep
 * others from waiting.
 */
export const MAX_WAITERS_PER_CALLER = 16
const WAITERS_IN_ALL = 1_024

export class DeviceWaiters {
  readonly #waiting = new Map<string, Set<Waiting>>()
  readonly #byCaller = new Map<string, number>()
  #count = 0

  wait({ key, caller, waitMs, signal, isThere }: DeviceWait): Promise<DeviceWaitResult> {
    if (isThere()) return Promise.resolve('ready')
    if (signal.aborted) return Promise.resolve('expired')
    const others = this.#waiting.get(key) ?? new Set()
    if (others.size >= MAX_WAITERS_PER_DEVICE || this.#count >= WAITERS_IN_ALL) return Promise.resolve('full')
    const own = this.#byCaller.get(caller) ?? 0
    if (own >= MAX_WAITERS_PER_CALLER) return Promise.resolve('too-many-of-one')
    this.#waiting.set(key, others)
    this.#byCaller.set(caller, own + 1)
    this.#count++
    return new Promise((resolve) => {
      const end = (waited: DeviceWaitResult): void => {
        if (!others.delete(waiting)) return
        clearTimeout(timer)
        signal.removeEventListener('abort', waiting.giveUp)
        this.#count--
        this.#leave(caller)
        if (others.size === 0) this.#waiting.delete(key)
        resolve(waited)
      }
      const waiting: Waiting = {
        look: () => {
          if (isThere()) end('ready')
        },
        giveUp: () => end('expired'),
        dismiss: () => end('gone'),
      }
      const timer = setTimeout(waiting.giveUp, waitMs)
      others.add(waiting)
      signal.addEventListener('abort', waiting.giveUp)
    })
  }

  /** Checks the conditions again, because the device's state has changed. */
  poke(key: string): void {
    for (const { look } of this.#waiting.get(key) ?? []) look()
  }

  /** Ends the waits for a device that no longer belongs to the house. */
  dismiss(key: string): void {
    for (const { dismiss } of this.#waiting.get(key) ?? []) dismiss()
  }

  /** Ends all waits. */
  close(): void {
    for (const waiting of this.#waiting.values()) for (const { giveUp } of waiting) giveUp()
  }

  #leave(caller: string): void {
    const left = (this.#byCaller.get(caller) ?? 0) - 1
    if (left > 0) this.#byCaller.set(caller, left)
    else this.#byCaller.delete(caller)
  }
}
