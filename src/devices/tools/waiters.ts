/**
 * Waiters: calls that wait for something to come true of a device, not too many, and not for ever.
 *
 * Nothing polls: whoever changes a device pokes those who wait for it.
 *
 * Pure, apart from waiting.
 */
export type Waited = 'ready' | 'expired' | 'full'

export interface Wait {
  readonly key: string
  readonly waitMs: number
  readonly signal: AbortSignal
  readonly isThere: () => boolean
}

interface Waiting {
  readonly look: () => void
  readonly giveUp: () => void
}

export const WAITERS_PER_DEVICE = 32
const WAITERS_IN_ALL = 1_024

export class Waiters {
  readonly #waiting = new Map<string, Set<Waiting>>()
  #count = 0

  wait({ key, waitMs, signal, isThere }: Wait): Promise<Waited> {
    if (isThere()) return Promise.resolve('ready')
    if (signal.aborted) return Promise.resolve('expired')
    const others = this.#waiting.get(key) ?? new Set()
    if (others.size >= WAITERS_PER_DEVICE || this.#count >= WAITERS_IN_ALL) return Promise.resolve('full')
    this.#waiting.set(key, others)
    this.#count++
    return new Promise((resolve) => {
      const end = (waited: Waited): void => {
        if (!others.delete(waiting)) return
        clearTimeout(timer)
        signal.removeEventListener('abort', waiting.giveUp)
        this.#count--
        if (others.size === 0) this.#waiting.delete(key)
        resolve(waited)
      }
      const waiting: Waiting = {
        look: () => {
          if (isThere()) end('ready')
        },
        giveUp: () => end('expired'),
      }
      const timer = setTimeout(waiting.giveUp, waitMs)
      others.add(waiting)
      signal.addEventListener('abort', waiting.giveUp)
    })
  }

  /** Something happened to it. */
  poke(key: string): void {
    for (const { look } of this.#waiting.get(key) ?? []) look()
  }

  /** Nobody will come any more. */
  close(): void {
    for (const waiting of this.#waiting.values()) for (const { giveUp } of waiting) giveUp()
  }
}
