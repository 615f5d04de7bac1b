/**
 * Shadow: the last known answer to everything that was read on a bus, by us or by others.
 *
 *   applied ▸ present ──somebody wrote──▶ invalidated ──read again──▶ present
 *       └ an empty answer ▸ tombstone: known not to be there
 *
 * Bounded: what the plan or a confirmation needs is pinned, within a budget; the rest makes room in turn, and what was
 * brought again since its last turn is passed over once. An older answer never replaces a newer one, and an answer to a
 * question asked before a change is not believed.
 */
import type { RegisterReadKey } from './read-key.ts'
import { READ_KEY_KINDS, decodeReadKeyKind } from './read-key.ts'
import { REGISTER_HEADER_BYTES } from './register.ts'

/** Who brought a value: our poll, a tool's own read, a read that confirms a write, others on the wire, the last run. */
export type ValueSource = 'poll' | 'tool' | 'write_confirm' | 'passive' | 'broadcast' | 'cache'

export type ShadowEntryState = 'present' | 'invalidated' | 'tombstone'

export interface ShadowEntry {
  readonly key: RegisterReadKey
  readonly payload: Uint8Array
  /** Wall clock. */
  readonly atMs: number
  readonly source: ValueSource
  readonly state: ShadowEntryState
}

export type ShadowUpdateVerdict = 'changed' | 'same' | 'stale_timestamp' | 'generation_advanced' | 'full'

export const SHADOW_LIMITS = {
  capacity: 4_096,
  staticPins: 1_792,
  confirmPins: 256,
  tombstoneMs: 900_000,
  lifeMs: 86_400_000,
  confirmMs: 900_000,
  batch: 64,
} as const

/**
 * Answers come in the order they were given, a moment apart; one that is older than this means that the clock went
 * back.
 */
export const SHADOW_CLOCK_SLACK_MS = 60_000
/** Batches that one compaction may take before it counts as not keeping up. */
const MAX_BATCHES = 8

interface MutableEntry extends ShadowEntry {
  payload: Uint8Array
  atMs: number
  source: ValueSource
  state: ShadowEntryState
  /** Brought again since it was last passed over. */
  used: boolean
}

export class RegisterShadow {
  readonly #entries = new Map<RegisterReadKey, MutableEntry>()
  /** Not pinned, whose turn it is to go first. */
  readonly #evictable = new Set<RegisterReadKey>()
  readonly #generations = new Map<RegisterReadKey, number>()
  #pins: ReadonlySet<RegisterReadKey> = new Set()
  readonly #confirming = new Map<RegisterReadKey, number>()
  #refusedPins = 0
  #compactorBehind = false
  #updatedAtMs: number | undefined

  get size(): number {
    return this.#entries.size
  }

  get updatedAtMs(): number | undefined {
    return this.#updatedAtMs
  }

  get pinnedBudgetDegraded(): boolean {
    return this.#refusedPins > 0
  }

  get compactorDegraded(): boolean {
    return this.#compactorBehind
  }

  get(key: RegisterReadKey): ShadowEntry | undefined {
    return this.#entries.get(key)
  }

  /** Grows whenever what is known about a key stops being true. */
  generation(key: RegisterReadKey): number {
    return this.#generations.get(key) ?? 0
  }

  /** `askedAt` is the generation when the question was put, for answers to questions of ours. */
  apply(
    key: RegisterReadKey,
    payload: Uint8Array,
    {
      atMs,
      source,
      requestedAt,
    }: { readonly atMs: number; readonly source: ValueSource; readonly requestedAt?: number },
  ): ShadowUpdateVerdict {
    if (requestedAt !== undefined && requestedAt !== this.generation(key)) return 'generation_advanced'
    const known = this.#entries.get(key)
    const state: ShadowEntryState = isEmpty(key, payload) ? 'tombstone' : 'present'
    if (known === undefined) return this.#add({ key, payload, atMs, source, state, used: false })
    // What we asked for ourselves is the newest there is, even if the clock was set back since the last time.
    if (requestedAt === undefined && atMs < known.atMs && known.atMs - atMs < SHADOW_CLOCK_SLACK_MS)
      return 'stale_timestamp'
    // Of two answers at one moment, the one we asked for ourselves counts.
    if (atMs === known.atMs && isPassiveSource(source) && !isPassiveSource(known.source) && known.state === 'present')
      return 'stale_timestamp'
    const same = known.state === state && sameBytes(known.payload, payload)
    known.atMs = atMs
    known.source = source
    known.state = state
    if (!same) known.payload = payload
    known.used = true
    this.#updatedAtMs = atMs
    return same ? 'same' : 'changed'
  }

  invalidate(key: RegisterReadKey): void {
    const known = this.#entries.get(key)
    if (known !== undefined && known.state === 'present') known.state = 'invalidated'
    // A generation of something unknown matters only to a question under way; those are few.
    if (known !== undefined || this.#generations.has(key) || this.#generations.size < SHADOW_LIMITS.capacity)
      this.#generations.set(key, this.generation(key) + 1)
  }

  /** These are needed again and again. What is beyond the budget stays evictable, and that is said. */
  pin(keys: Iterable<RegisterReadKey>): void {
    const wanted = [...keys]
    const pins = new Set(wanted.slice(0, SHADOW_LIMITS.staticPins))
    this.#refusedPins = Math.max(0, wanted.length - SHADOW_LIMITS.staticPins)
    for (const key of this.#pins) if (!pins.has(key) && this.#entries.has(key)) this.#evictable.add(key)
    for (const key of pins) this.#evictable.delete(key)
    this.#pins = pins
  }

  /** Keeps what a write has to be held against. */
  confirm(key: RegisterReadKey, nowMs: number): void {
    if (this.#confirming.size >= SHADOW_LIMITS.confirmPins && !this.#confirming.has(key)) return
    this.#confirming.set(key, nowMs + SHADOW_LIMITS.confirmMs)
    this.#evictable.delete(key)
  }

  /** Lets go of what is too old, a bounded number at a time. */
  compact(nowMs: number): void {
    for (const [key, untilMs] of this.#confirming) {
      if (untilMs > nowMs) continue
      this.#confirming.delete(key)
      if (this.#entries.has(key) && !this.#pins.has(key)) this.#evictable.add(key)
    }
    let left = SHADOW_LIMITS.batch * MAX_BATCHES
    for (const key of this.#evictable) {
      const entry = this.#entries.get(key)
      const lifeMs = entry?.state === 'tombstone' ? SHADOW_LIMITS.tombstoneMs : SHADOW_LIMITS.lifeMs
      if (entry !== undefined && nowMs - entry.atMs <= lifeMs) continue
      if (left-- === 0) break
      this.#drop(key)
    }
    this.#compactorBehind = left < 0
    for (const key of this.#generations.keys())
      if (!this.#entries.has(key) && this.#generations.size > SHADOW_LIMITS.capacity / 2) this.#generations.delete(key)
  }

  entries(): Iterable<ShadowEntry> {
    return this.#entries.values()
  }

  counts(): {
    readonly evictable: number
    readonly staticPins: number
    readonly confirmPins: number
  } {
    let staticPins = 0
    for (const key of this.#pins) if (this.#entries.has(key)) staticPins++
    return { evictable: this.#evictable.size, staticPins, confirmPins: this.#confirming.size }
  }

  #add(entry: MutableEntry): ShadowUpdateVerdict {
    if (this.#entries.size >= SHADOW_LIMITS.capacity) {
      const next = this.#nextToGo()
      if (next === undefined) return 'full'
      this.#drop(next)
    }
    this.#entries.set(entry.key, entry)
    this.#updatedAtMs = entry.atMs
    if (!this.#pins.has(entry.key) && !this.#confirming.has(entry.key)) this.#evictable.add(entry.key)
    return 'changed'
  }

  /** Passes over everything at most once: who is passed over has no second excuse. */
  #nextToGo(): RegisterReadKey | undefined {
    for (const key of this.#evictable) {
      const entry = this.#entries.get(key)
      if (entry?.used !== true) return key
      entry.used = false
      this.#evictable.delete(key)
      this.#evictable.add(key)
    }
    return undefined
  }

  #drop(key: RegisterReadKey): void {
    this.#entries.delete(key)
    this.#evictable.delete(key)
    this.#generations.delete(key)
  }
}

export function isPassiveSource(source: ValueSource): boolean {
  return source === 'passive' || source === 'broadcast' || source === 'cache'
}

/** A handful of bytes, a million times: a loop is faster than handing them to anybody. */
function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) return false
  for (let index = 0; index < left.length; index++) if (left[index] !== right[index]) return false
  return true
}

function isEmpty(key: RegisterReadKey, payload: Uint8Array): boolean {
  return decodeReadKeyKind(key) === READ_KEY_KINDS.register
    ? payload.length <= REGISTER_HEADER_BYTES
    : payload.length === 0
}
