/**
 * Registry events: what was added, changed and removed, for subscribers. A slow subscriber gets the sum of what
 * happened since it last looked, not every step: added and removed in between is nothing, removed and added again is an
 * update. What waits for one watcher is bounded; beyond that it is told to read everything again.
 */
import type { CapabilityEntry } from './capability-entry.ts'

export type RegistryChangeKind = 'added' | 'removed' | 'updated'

export type RegistryEvent =
  | { readonly kind: RegistryChangeKind; readonly entry: CapabilityEntry }
  /** Too many changes to report one by one: read everything again. */
  | { readonly kind: 'resync' }

const MAX_WAITING = 4_096

/** Combines an earlier and a later change into one. */
const SUM: Readonly<Record<RegistryChangeKind, Readonly<Record<RegistryChangeKind, RegistryChangeKind | undefined>>>> =
  {
    added: { added: 'added', updated: 'added', removed: undefined },
    updated: { added: 'updated', updated: 'updated', removed: 'removed' },
    removed: { added: 'updated', updated: 'updated', removed: 'removed' },
  }

class Watcher implements AsyncIterableIterator<RegistryEvent, undefined> {
  #waiting = new Map<string, { readonly kind: RegistryChangeKind; readonly entry: CapabilityEntry }>()
  #overflowed = false
  #closed = false
  #hungry: ((result: IteratorResult<RegistryEvent, undefined>) => void)[] = []
  readonly #leave: (watcher: Watcher) => void

  constructor(leave: (watcher: Watcher) => void) {
    this.#leave = leave
  }

  announce(kind: RegistryChangeKind, entry: CapabilityEntry): void {
    const eater = this.#hungry.shift()
    if (eater !== undefined) {
      eater({ done: false, value: { kind, entry } })
      return
    }
    if (this.#overflowed) return
    const earlier = this.#waiting.get(entry.key)
    const sum = earlier === undefined ? kind : SUM[earlier.kind][kind]
    if (sum === undefined) this.#waiting.delete(entry.key)
    else this.#waiting.set(entry.key, { kind: sum, entry })
    if (this.#waiting.size > MAX_WAITING) {
      this.#waiting.clear()
      this.#overflowed = true
    }
  }

  next(): Promise<IteratorResult<RegistryEvent, undefined>> {
    if (this.#closed) return Promise.resolve({ done: true, value: undefined })
    if (this.#overflowed) {
      this.#overflowed = false
      return Promise.resolve({ done: false, value: { kind: 'resync' } })
    }
    for (const [key, event] of this.#waiting) {
      this.#waiting.delete(key)
      return Promise.resolve({ done: false, value: event })
    }
    return new Promise((resolve) => this.#hungry.push(resolve))
  }

  return(): Promise<IteratorResult<RegistryEvent, undefined>> {
    this.#closed = true
    this.#waiting.clear()
    this.#leave(this)
    for (const eater of this.#hungry.splice(0)) eater({ done: true, value: undefined })
    return Promise.resolve({ done: true, value: undefined })
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}

export class RegistryEvents {
  readonly #watchers = new Set<Watcher>()

  /** Events from now on. Leaving the loop ends the subscription. */
  subscribe(): AsyncIterableIterator<RegistryEvent, undefined> {
    const watcher = new Watcher((left) => this.#watchers.delete(left))
    this.#watchers.add(watcher)
    return watcher
  }

  announce(kind: RegistryChangeKind, entry: CapabilityEntry): void {
    for (const watcher of this.#watchers) watcher.announce(kind, entry)
  }

  /** Ends every subscription. */
  close(): void {
    for (const watcher of this.#watchers) void watcher.return()
  }
}
