/**
 * Device admission refusal log: which devices were refused lately, and which refusals are recorded in the ledger.
 *
 *   refusal ▸ claims a device of the house? ▸ counted by device, place, reason and address ▸ now and then on record
 *           ▸ any other                     ▸ counted by place, reason and address
 *
 * An unauthenticated client can cause a refusal with every packet, so both the memory and the rate of recorded refusals
 * are bounded. The first one is recorded at once.
 *
 * Pure, apart from what it holds.
 */
import { takeToken } from '../../toolbox/token-bucket.ts'
import type { TokenBucket } from '../../toolbox/token-bucket.ts'
import type { DeviceAdmissionRefusal } from '../session/device-admission-refusal.ts'

export interface CountedDeviceAdmissionRefusal extends DeviceAdmissionRefusal {
  readonly count: number
  readonly firstMs: number
  readonly lastMs: number
}

const MAX_KNOWN = 256
const MAX_UNKNOWN = 64
const KEEP_MS = 24 * 3_600_000
/** The time between two entries about the same device and reason. */
const RECORD_MS = 600_000
/** The rate of entries about all devices together: one a minute, with a burst of sixty. */
const RECORDS = { tokens: 1, perMs: 60_000, burst: 60 }

export class DeviceAdmissionRefusalLog {
  /** Known refusals, the one that occurred longest ago first, as a Map keeps them. */
  readonly #known = new Map<string, CountedDeviceAdmissionRefusal>()
  readonly #unknown = new Map<string, CountedDeviceAdmissionRefusal>()
  /** Device and reason → the number of refusals since the last entry, and when the next entry may be written. */
  readonly #records = new Map<string, { since: number; nextMs: number }>()
  #bucket: TokenBucket | undefined

  /**
   * Counts a refusal. Returns the number of refusals for an entry in the ledger; `undefined` when none is to be written
   * now.
   */
  add(refusal: DeviceAdmissionRefusal, isKnown: boolean, nowMs: number): number | undefined {
    if (!isKnown || refusal.deviceId === undefined) {
      // An unknown client can claim any identity, so its claim is not stored.
      count(this.#unknown, { ...refusal, deviceId: undefined }, { nowMs, max: MAX_UNKNOWN })
      return undefined
    }
    count(this.#known, refusal, { nowMs, max: MAX_KNOWN })
    return this.#due(`${refusal.deviceId} ${refusal.why}`, nowMs)
  }

  /** The refusals, newest first. */
  list(nowMs: number): readonly CountedDeviceAdmissionRefusal[] {
    for (const refusals of [this.#known, this.#unknown])
      for (const [key, { lastMs }] of refusals) if (lastMs < nowMs - KEEP_MS) refusals.delete(key)
    return [...this.#known.values(), ...this.#unknown.values()].toSorted((left, right) => right.lastMs - left.lastMs)
  }

  #due(key: string, nowMs: number): number | undefined {
    const record = this.#records.get(key) ?? { since: 0, nextMs: nowMs }
    this.#records.delete(key)
    this.#records.set(key, record)
    if (this.#records.size > MAX_KNOWN) this.#records.delete(this.#records.keys().next().value ?? '')
    record.since++
    const bucket = nowMs < record.nextMs ? undefined : takeToken(this.#bucket, RECORDS, nowMs)
    if (bucket === undefined) return undefined
    this.#bucket = bucket
    const { since } = record
    record.since = 0
    record.nextMs = nowMs + RECORD_MS
    return since
  }
}

function count(
  refusals: Map<string, CountedDeviceAdmissionRefusal>,
  refusal: DeviceAdmissionRefusal,
  { nowMs, max }: { readonly nowMs: number; readonly max: number },
): void {
  const key = `${refusal.deviceId} ${refusal.door} ${refusal.why} ${refusal.remoteAddress}`
  const before = refusals.get(key)
  refusals.delete(key)
  refusals.set(key, {
    ...refusal,
    count: (before?.count ?? 0) + 1,
    firstMs: before?.firstMs ?? nowMs,
    lastMs: nowMs,
  })
  if (refusals.size > max) refusals.delete(refusals.keys().next().value ?? '')
}
