/**
 * Patience: how long a kind of device takes to get where it was told to go. A caller waits for `waitMs`; until `windowMs`
 * nobody calls it failed, and a later arrival is noted.
 *
 *   Z-Wave locks 2–8 s · blinds 5–60 s · garage doors 10–20 s · battery devices at their next wake-up
 *
 * Pure.
 */
import type { DeviceKind } from './classify.ts'
import type { Device } from './device.ts'
import { rootRef, type House } from './house.ts'

export interface Patience {
  readonly waitMs: number
  readonly windowMs: number
  /** It may report nothing at all until it has arrived. */
  readonly slow: boolean
}

const SECOND = 1_000
const SLOW: Partial<Record<DeviceKind, Omit<Patience, 'slow'>>> = {
  blind: { waitMs: 20 * SECOND, windowMs: 90 * SECOND },
  door: { waitMs: 25 * SECOND, windowMs: 60 * SECOND },
  lock: { waitMs: 12 * SECOND, windowMs: 30 * SECOND },
  valve: { waitMs: 10 * SECOND, windowMs: 60 * SECOND },
  main_valve: { waitMs: 10 * SECOND, windowMs: 60 * SECOND },
  // An alarm leaves time to go out.
  alarm: { waitMs: 5 * SECOND, windowMs: 120 * SECOND },
}
/** A battery device wakes up once in a while: Z-Wave's usual interval is an hour. */
const ASLEEP: Patience = { waitMs: 3 * SECOND, windowMs: 3_900 * SECOND, slow: true }

/** `longestMs` is what the owner lets a call wait for any device, `usualMs` for those that take no time. */
export function patienceFor(
  device: Device,
  house: House,
  { usualMs, longestMs }: { readonly usualMs: number; readonly longestMs: number },
): Patience {
  const slow = SLOW[device.kind]
  if (slow !== undefined)
    return { waitMs: Math.max(Math.min(slow.waitMs, longestMs), usualMs), windowMs: slow.windowMs, slow: true }
  if (hasBattery(device, house)) return ASLEEP
  return { waitMs: usualMs, windowMs: Math.max(30 * SECOND, usualMs), slow: false }
}

function hasBattery(device: Device, house: House): boolean {
  const root = house.byRef.get(rootRef(device))
  return (root?.childRefs ?? []).some((ref) => house.byRef.get(ref)?.capabilities.includes('battery') === true)
}
