/**
 * Event feed: one stream of events for many readers. No reader can slow down the others or fill the memory.
 *
 * Each reader has a buffer of bounded length; events that do not fit are counted, and the reader is told how many it
 * missed.
 *
 * Pure, apart from waiting.
 */
import type { FleetEvent } from './fleet.ts'

const BUFFER = 1_024

class Reader implements AsyncIterableIterator<FleetEvent> {
  #buffer: FleetEvent[] = []
  #missed = 0
  #ended = false
  #wake: (() => void) | undefined
  readonly #leave: () => void

  constructor(leave: () => void) {
    this.#leave = leave
  }

  push(event: FleetEvent): void {
    if (this.#buffer.length >= BUFFER) {
      this.#buffer.shift()
      this.#missed++
    }
    this.#buffer.push(event)
    this.#wake?.()
  }

  end(): void {
    this.#ended = true
    this.#leave()
    this.#wake?.()
  }

  async next(): Promise<IteratorResult<FleetEvent>> {
    for (;;) {
      if (this.#missed > 0) {
        const count = this.#missed
        this.#missed = 0
        return { done: false, value: { kind: 'missed', count } }
      }
      const value = this.#buffer.shift()
      if (value !== undefined) return { done: false, value }
      if (this.#ended) return { done: true, value: undefined }
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#wake = undefined
    }
  }

  return(): Promise<IteratorResult<FleetEvent>> {
    this.#buffer = []
    this.end()
    return Promise.resolve({ done: true, value: undefined })
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}

export class DeviceEventBroadcaster {
  readonly #readers = new Set<Reader>()

  publish(event: FleetEvent): void {
    for (const reader of this.#readers) reader.push(event)
  }

  subscribe(signal?: AbortSignal): AsyncIterableIterator<FleetEvent> {
    const onAbort = () => reader.end()
    const reader: Reader = new Reader(() => {
      this.#readers.delete(reader)
      signal?.removeEventListener('abort', onAbort)
    })
    this.#readers.add(reader)
    if (signal?.aborted === true) reader.end()
    else signal?.addEventListener('abort', onAbort)
    return reader
  }

  close(): void {
    for (const reader of this.#readers) reader.end()
  }
}
