/**
 * Register reader: one read per key at a time, and none if a recent answer is known.
 *
 *   the same read is under way ▸ wait for it, then look again
 *   a fresh enough answer      ▸ served, even while the breaker is open
 *   the breaker is open        ▸ refused
 *   otherwise                  ▸ fetched once, for all who wait
 *
 * A key that failed twice in a row is not read for fifteen seconds; then one read tries it (circuit breaker).
 *
 * Pure, given the fetch and the pause it is made with.
 */
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import type { EbusSendFault, SendOptions } from '../adapter/ebus-connection.ts'
import type { RegisterReadKey } from './read-key.ts'
import type { ShadowEntry, RegisterShadow, ValueSource } from './register-shadow.ts'
import { SHADOW_CLOCK_SLACK_MS } from './register-shadow.ts'

export interface RegisterReadOptions extends Pick<SendOptions, 'caller' | 'signal'> {
  /** How old an answer may be; 0 reads from the bus in any case. */
  readonly maxAgeMs: number
  readonly source: ValueSource
  readonly deadlineMs: number
}

export interface RegisterReadAnswer {
  readonly entry: ShadowEntry
  readonly fromCache: boolean
}

export type RegisterReadFault =
  | EbusSendFault
  /** It failed twice in a row and is not read for a while. */
  | { readonly kind: 'resting'; readonly forMs: number; readonly because: string }
  /** The owner allows listening on this bus, but not sending. */
  | { readonly kind: 'listen-only' }

export interface RegisterReaderDependencies {
  readonly shadow: RegisterShadow
  /** Sends the request; `ok` has the answer's data. */
  readonly fetch: (
    key: RegisterReadKey,
    options: Pick<RegisterReadOptions, 'caller' | 'signal' | 'deadlineMs'>,
  ) => Promise<Result<Uint8Array, RegisterReadFault>>
  /** Passes an answer on like an overheard one; returns false if the shadow did not take it. */
  readonly learn: (
    key: RegisterReadKey,
    payload: Uint8Array,
    how: { readonly source: ValueSource; readonly requestedAt: number },
  ) => boolean
  readonly pause: (ms: number) => Promise<void>
  readonly now: () => number
  readonly monotonic: () => number
}

const ATTEMPTS = 3
const PAUSE_MS = 75
const REST_MS = 15_000
const FAILURES_TO_REST = 2
/** The limit for remembered failing keys. */
const MAX_BREAKERS = 4_096

interface Breaker {
  failures: number
  restUntilMs: number
  because: string
}

export class RegisterReader {
  readonly #parts: RegisterReaderDependencies
  readonly #running = new Map<RegisterReadKey, Promise<unknown>>()
  readonly #breakers = new Map<RegisterReadKey, Breaker>()

  constructor(parts: RegisterReaderDependencies) {
    this.#parts = parts
  }

  /** Whether a read of this key would be refused now. */
  isResting(key: RegisterReadKey): boolean {
    const breaker = this.#breakers.get(key)
    return breaker !== undefined && breaker.restUntilMs > this.#parts.monotonic()
  }

  async read(
    key: RegisterReadKey,
    options: RegisterReadOptions,
  ): Promise<Result<RegisterReadAnswer, RegisterReadFault>> {
    const startedAtMs = this.#parts.now()
    let waited = false
    for (;;) {
      const fresh = this.#fresh(key, options.maxAgeMs) ?? (waited ? this.#readSince(key, startedAtMs) : undefined)
      if (fresh !== undefined) return ok({ entry: fresh, fromCache: !waited })
      const running = this.#running.get(key)
      if (running === undefined) break
      await untilAborted(running, options.signal)
      waited = true
      if (options.signal?.aborted === true) return fail<RegisterReadFault>({ kind: 'cancelled', phase: 'queued' })
    }
    const restMs = (this.#breakers.get(key)?.restUntilMs ?? 0) - this.#parts.monotonic()
    if (restMs > 0) return fail({ kind: 'resting', forMs: restMs, because: this.#breakers.get(key)?.because ?? '' })
    const fetched = this.#fetch(key, options)
    this.#running.set(key, fetched)
    try {
      return await fetched
    } finally {
      this.#running.delete(key)
    }
  }

  /** A value that another initiator has read since we began waiting is used, however recent it has to be. */
  #readSince(key: RegisterReadKey, atMs: number): ShadowEntry | undefined {
    const entry = this.#parts.shadow.get(key)
    return entry !== undefined && entry.state !== 'invalidated' && entry.atMs >= atMs ? entry : undefined
  }

  #fresh(key: RegisterReadKey, maxAgeMs: number): ShadowEntry | undefined {
    const entry = this.#parts.shadow.get(key)
    if (entry === undefined || entry.state === 'invalidated' || maxAgeMs <= 0) return undefined
    const ageMs = this.#parts.now() - entry.atMs
    // Its time is in the future: the clock was set back, and its age is unknown.
    return ageMs <= maxAgeMs && ageMs > -SHADOW_CLOCK_SLACK_MS ? entry : undefined
  }

  async #fetch(
    key: RegisterReadKey,
    options: RegisterReadOptions,
  ): Promise<Result<RegisterReadAnswer, RegisterReadFault>> {
    const { shadow, fetch, learn } = this.#parts
    const endMs = this.#parts.monotonic() + options.deadlineMs
    for (let attempt = 1; ; attempt++) {
      const requestedAt = shadow.generation(key)
      const leftMs = Math.max(1, endMs - this.#parts.monotonic())
      const fetched = await fetch(key, { ...options, deadlineMs: leftMs })
      if (fetched.ok || fetched.fault.kind === 'refused') {
        // A device that refuses knows the request and has no value: this counts as an answer.
        const payload = fetched.ok ? fetched.value : new Uint8Array()
        const learnt = learn(key, payload, { source: options.source, requestedAt })
        this.#breakers.delete(key)
        if (!fetched.ok) return fail(fetched.fault)
        const stored = learnt ? shadow.get(key) : undefined
        return ok({ entry: stored ?? this.#passing(key, payload, options.source), fromCache: false })
      }
      const again = attempt < ATTEMPTS && isPassing(fetched.fault) && endMs - this.#parts.monotonic() > PAUSE_MS
      if (!again || options.signal?.aborted === true) {
        this.#noteFailure(key, fetched.fault)
        return fetched
      }
      await this.#parts.pause(PAUSE_MS)
    }
  }

  /**
   * For an answer that the shadow did not take, because it was full or something changed meanwhile. It is still
   * returned.
   */
  #passing(key: RegisterReadKey, payload: Uint8Array, source: ValueSource): ShadowEntry {
    return { key, payload, atMs: this.#parts.now(), source, state: payload.length === 0 ? 'tombstone' : 'present' }
  }

  #noteFailure(key: RegisterReadKey, fault: RegisterReadFault): void {
    if (!isAboutDevice(fault)) return
    const breaker = this.#breakers.get(key) ?? { failures: 0, restUntilMs: 0, because: '' }
    breaker.failures++
    breaker.because = fault.kind
    if (breaker.failures >= FAILURES_TO_REST) breaker.restUntilMs = this.#parts.monotonic() + REST_MS
    if (this.#breakers.size >= MAX_BREAKERS) this.#breakers.clear()
    this.#breakers.set(key, breaker)
  }
}

/** A bus that cannot be used, or a caller that has gone, says nothing about the device. */
function isAboutDevice(fault: RegisterReadFault): boolean {
  switch (fault.kind) {
    case 'no-answer':
    case 'answer-lost':
    case 'answer-garbled':
    case 'collision':
    case 'ebusd':
      return true
    case 'timed-out':
      return fault.phase === 'talking'
    default:
      return false
  }
}

/** Whether another try at once may help: after noise, but not if the device is absent. */
function isPassing({ kind }: RegisterReadFault): boolean {
  return kind === 'collision' || kind === 'answer-lost' || kind === 'answer-garbled' || kind === 'arbitration-lost'
}

/** Resolves when the read ends or the signal aborts. */
function untilAborted(running: Promise<unknown>, signal: AbortSignal | undefined): Promise<unknown> {
  if (signal === undefined) return running
  return new Promise((resolve) => {
    const leave = (): void => resolve(undefined)
    signal.addEventListener('abort', leave, { once: true })
    void running.finally(() => {
      signal.removeEventListener('abort', leave)
      resolve(undefined)
    })
  })
}
