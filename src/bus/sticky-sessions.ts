/**
 * Sticky sessions: which provider a session is bound to (spec 2 § 5.6), until it has been silent for ten minutes.
 *
 * Kept in the order of last use, so that both the sweeper and the bound on their number look at the front only.
 */
import { TimerWheelEntry } from './timer-wheel.ts'
import type { CapabilityEntry } from './capability-entry.ts'

export const STICKY_SESSION_IDLE_TIMEOUT_MS = 600_000
const MAX_BINDINGS = 10_000
const SWEEP_EVERY_MS = 60_000

interface Binding {
  readonly entry: CapabilityEntry
  readonly usedMs: number
}

/** Fires once a minute and releases idle sessions; `again` sets it anew. */
export class StickySessionSweeper extends TimerWheelEntry {
  readonly #sticky: StickySessions
  readonly #again: (sweeper: StickySessionSweeper, dueMs: number) => void

  constructor(sticky: StickySessions, again: (sweeper: StickySessionSweeper, dueMs: number) => void) {
    super()
    this.#sticky = sticky
    this.#again = again
  }

  ring(nowMs: number): void {
    this.#sticky.sweep(nowMs)
    this.#again(this, nowMs + SWEEP_EVERY_MS)
  }
}

export class StickySessions {
  readonly #bindings = new Map<string, Binding>()

  get size(): number {
    return this.#bindings.size
  }

  /** A session is bound per capability: its provider for one says nothing about another. */
  bound(sessionId: string, name: string, nowMs: number): CapabilityEntry | undefined {
    const key = bindingKey(sessionId, name)
    const binding = this.#bindings.get(key)
    if (binding === undefined) return undefined
    if (!binding.entry.removed && nowMs - binding.usedMs <= STICKY_SESSION_IDLE_TIMEOUT_MS) return binding.entry
    this.#bindings.delete(key)
    return undefined
  }

  bind(sessionId: string, entry: CapabilityEntry, nowMs: number): void {
    const key = bindingKey(sessionId, entry.offer.name)
    this.#bindings.delete(key)
    this.#bindings.set(key, { entry, usedMs: nowMs })
    if (this.#bindings.size > MAX_BINDINGS) this.#bindings.delete(this.#bindings.keys().next().value ?? key)
  }

  release(sessionId: string): void {
    for (const key of this.#bindings.keys()) if (sessionIn(key) === sessionId) this.#bindings.delete(key)
  }

  sweep(nowMs: number): void {
    for (const [key, { entry, usedMs }] of this.#bindings) {
      if (nowMs - usedMs <= STICKY_SESSION_IDLE_TIMEOUT_MS && !entry.removed) return
      this.#bindings.delete(key)
    }
  }

  /** How many sessions are bound to each provider. */
  sessions(): ReadonlyMap<CapabilityEntry, number> {
    const counts = new Map<CapabilityEntry, number>()
    for (const { entry } of this.#bindings.values()) counts.set(entry, (counts.get(entry) ?? 0) + 1)
    return counts
  }
}

/** The name comes first: a peer may put any character into the id of its session, but not into a name. */
function bindingKey(sessionId: string, name: string): string {
  return `${name}\n${sessionId}`
}

function sessionIn(key: string): string {
  return key.slice(key.indexOf('\n') + 1)
}
