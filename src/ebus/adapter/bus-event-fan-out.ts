/**
 * Bus event fan out: hands what happens on a bus to everybody who listens, each with its own bounded line.
 *
 * Pure, but for the events it is given.
 */
import type { Clock } from '../../core/clock.ts'
import { BoundedQueue } from './bounded-queue.ts'
import type { EbusEvent, UntimedBusEvent } from './ebus-connection.ts'
import { isProtocolMismatch, newProtocolMismatchEvidence, recordProtocolEvidence } from './protocol-mismatch.ts'

/** As many events as the busiest bus has in a minute. */
const CAPACITY = 1_024

export class BusEventFanOut {
  readonly #clock: Clock
  readonly #subscribers = new Set<BoundedQueue<EbusEvent>>()
  readonly #dialect = newProtocolMismatchEvidence()
  #ended = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether the bytes look like another protocol than the configured one. */
  get misread(): boolean {
    return isProtocolMismatch(this.#dialect)
  }

  subscribe(): BoundedQueue<EbusEvent> {
    const queue = new BoundedQueue<EbusEvent>(CAPACITY)
    if (this.#ended) queue.end()
    else this.#subscribers.add(queue)
    return queue
  }

  emit(happening: UntimedBusEvent): void {
    recordProtocolEvidence(this.#dialect, happening)
    if (this.#subscribers.size === 0) return
    const event: EbusEvent = { ...happening, atMs: this.#clock.now() }
    for (const queue of this.#subscribers) {
      if (queue.ended) {
        this.#subscribers.delete(queue)
        continue
      }
      const count = queue.takeDropped()
      if (count > 0) queue.push({ kind: 'missed', count, atMs: event.atMs })
      queue.push(event)
    }
  }

  end(): void {
    this.#ended = true
    for (const queue of this.#subscribers) queue.end()
    this.#subscribers.clear()
  }
}
