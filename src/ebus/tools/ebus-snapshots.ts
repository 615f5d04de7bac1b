/**
 * eBUS snapshots: captured views, each its taker's own, for a while and within bounds.
 *
 *   capture ▸ kept ──expires_at──▶ gone        drop ▸ gone at once
 *
 * For any other caller a snapshot does not exist, so a leaked id is useless.
 *
 * Holds memory; otherwise pure.
 */
import { randomBytes } from 'node:crypto'
import { toAccountKeyFromCallerKey } from '../../bus/caller.ts'
import { toHex } from '../../core/bytes.ts'
import type { Fault } from '../../core/fault.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import type { EbusView } from './ebus-view.ts'
import { measureEbusViewBytes } from './ebus-view.ts'

export interface EbusSnapshot {
  readonly id: string
  readonly owner: string
  readonly view: EbusView
  readonly expiresAtMs: number
  readonly bytes: number
}

/**
 * Limits for all callers together, except `perOwner`; a node counts with every caller it speaks for. `ttlMs` is counted
 * from the capture; reading does not extend it.
 */
export interface SnapshotLimits {
  readonly ttlMs: number
  readonly perOwner: number
  readonly total: number
  readonly bytes: number
}

/** Against callers that capture in a loop; most of a capture are the 1,024 telegrams of the message store. */
export const SNAPSHOT_LIMITS: Omit<SnapshotLimits, 'ttlMs'> = { perOwner: 8, total: 64, bytes: 32 * 1_024 * 1_024 }

/** Cannot be guessed, although an id alone grants no access. */
const ID_BYTES = 16

export class EbusSnapshots {
  readonly #limits: SnapshotLimits
  readonly #snapshots = new Map<string, EbusSnapshot>()
  #bytes = 0

  constructor(limits: SnapshotLimits) {
    this.#limits = limits
  }

  take(view: EbusView, owner: string, nowMs: number): Result<EbusSnapshot, Fault> {
    // Checked on every use, so that no timer keeps the process awake.
    this.#purge(nowMs)
    const bytes = measureEbusViewBytes(view)
    const account = toAccountKeyFromCallerKey(owner)
    const own = [...this.#snapshots.values()].filter(
      (snapshot) => toAccountKeyFromCallerKey(snapshot.owner) === account,
    ).length
    const { perOwner, total } = this.#limits
    if (own >= perOwner) return fail(full(`You keep ${own} snapshots already; drop one, or wait until one expires.`))
    if (this.#snapshots.size >= total || this.#bytes + bytes > this.#limits.bytes)
      return fail(full('No more snapshots can be kept now.'))
    const snapshot = { id: toHex(randomBytes(ID_BYTES)), owner, view, expiresAtMs: nowMs + this.#limits.ttlMs, bytes }
    this.#snapshots.set(snapshot.id, snapshot)
    this.#bytes += bytes
    return ok(snapshot)
  }

  find(id: string, owner: string, nowMs: number): EbusSnapshot | undefined {
    this.#purge(nowMs)
    const snapshot = this.#snapshots.get(id)
    return snapshot?.owner === owner ? snapshot : undefined
  }

  drop(id: string, owner: string, nowMs: number): boolean {
    const snapshot = this.find(id, owner, nowMs)
    if (snapshot !== undefined) this.#forget(snapshot)
    return snapshot !== undefined
  }

  #purge(nowMs: number): void {
    for (const snapshot of this.#snapshots.values()) if (snapshot.expiresAtMs <= nowMs) this.#forget(snapshot)
  }

  #forget({ id, bytes }: EbusSnapshot): void {
    this.#snapshots.delete(id)
    this.#bytes -= bytes
  }
}

function full(message: string): Fault {
  return { kind: 'busy', code: 'BUSY', message, retryAfterMs: 10_000 }
}
