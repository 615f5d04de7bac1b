/**
 * Refusal log: who was not let in lately, and which of it is worth a line in the ledger.
 *
 *   refusal ▸ claims a device of the house? ▸ counted by device, place, reason and address ▸ now and then on record
 *           ▸ anybody else                  ▸ counted by place, reason and address
 *
 * Refusals are a stranger's to cause, as many as there are packets, so everything is bounded: what is held, and how
 * often one of them is on record. The first is at once.
 *
 * Pure, apart from what it holds.
 */
import { takeToken } from '../../toolbox/token-bucket.ts'
import type { TokenBucket } from '../../toolbox/token-bucket.ts'
import type { DeviceRefusal } from '../session/device-refusal.ts'

export interface CountedDeviceRefusal extends DeviceRefusal {
  readonly count: number
  readonly firstMs: number
  readonly lastMs: number
}

const MAX_KNOWN = 256
const MAX_STRANGERS = 64
const KEEP_MS = 24 * 3_600_000
/** Between two lines about the same device and reason. */
const RECORD_MS = 600_000
/** In all, whoever it is about: a line a minute, and sixty at once. */
const RECORDS = { tokens: 1, perMs: 60_000, burst: 60 }

export class DeviceRefusalLog {
  /** Longest unseen first, as a Map keeps them. */
  readonly #known = new Map<string, CountedDeviceRefusal>()
  readonly #strangers = new Map<string, CountedDeviceRefusal>()
  /** Device and reason → what was refused since the last line, and when the next one may be written. */
  readonly #records = new Map<string, { since: number; nextMs: number }>()
  #bucket: TokenBucket | undefined

  /** How many refusals a line in the ledger is to speak of; `undefined` when there is to be none now. */
  add(refusal: DeviceRefusal, isKnown: boolean, nowMs: number): number | undefined {
    if (!isKnown || refusal.deviceId === undefined) {
      // Strangers can claim to be anybody, so what they claim is not kept apart.
      count(this.#strangers, { ...refusal, deviceId: undefined }, { nowMs, max: MAX_STRANGERS })
      return undefined
    }
    count(this.#known, refusal, { nowMs, max: MAX_KNOWN })
    return this.#due(`${refusal.deviceId} ${refusal.why}`, nowMs)
  }

  /** Newest first. */
  list(nowMs: number): readonly CountedDeviceRefusal[] {
    for (const visitors of [this.#known, this.#strangers])
      for (const [key, { lastMs }] of visitors) if (lastMs < nowMs - KEEP_MS) visitors.delete(key)
    return [...this.#known.values(), ...this.#strangers.values()].toSorted((left, right) => right.lastMs - left.lastMs)
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
  visitors: Map<string, CountedDeviceRefusal>,
  refusal: DeviceRefusal,
  { nowMs, max }: { readonly nowMs: number; readonly max: number },
): void {
  const key = `${refusal.deviceId} ${refusal.door} ${refusal.why} ${refusal.remoteAddress}`
  const before = visitors.get(key)
  visitors.delete(key)
  visitors.set(key, {
    ...refusal,
    count: (before?.count ?? 0) + 1,
    firstMs: before?.firstMs ?? nowMs,
    lastMs: nowMs,
  })
  if (visitors.size > max) visitors.delete(visitors.keys().next().value ?? '')
}
