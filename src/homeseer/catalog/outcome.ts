/**
 * Outcome: whether what a device shows after a command is what was asked for.
 *
 *   reached     the value asked for, one that the command leads to, one that this device is known to show for it, or
 *               another one with the text of the button that was pressed: many devices show another number than they are
 *               told
 *   moving      something that is neither a rest position nor the old value: a lock between bolts, a blind on its way
 *   elsewhere   another rest position, or no change
 *
 * Pure.
 */
import type { ControlPair } from '../wire/device.ts'
import type { ControlChoice } from './control.ts'
import type { DeviceKind } from './classify.ts'
import type { Device } from './device.ts'
import { rootRef, type House } from './house.ts'

export type Outcome = 'reached' | 'moving' | 'elsewhere'

export interface Observation {
  readonly value: number | undefined
  readonly status: string
}

export interface Expectation {
  /** Any value from `low` to `high` fulfils the wish; `undefined` when only the text can. */
  readonly low: number | undefined
  readonly high: number | undefined
  readonly text: string | undefined
  readonly restValues: readonly number[]
  /** Spans that other commands lead into. */
  readonly ranges?: readonly { readonly start: number; readonly end: number }[]
  /** What is written on the button, without regard to case. */
  readonly label?: string | undefined
  /** What this device showed when it was told the same before. */
  readonly shown?: number | undefined
}

const NUMBER_TOLERANCE = 1e-6
/** Dimmers round on their way to the lamp and back. */
const DIM_TOLERANCE = 1

export function expectationOf(choice: ControlChoice, controls: readonly ControlPair[]): Expectation {
  const restValues = controls.flatMap((pair) =>
    pair.range === undefined && pair.value !== undefined ? [pair.value] : [],
  )
  const { value, text } = choice
  if (value === undefined) return { low: undefined, high: undefined, text, restValues }
  if (choice.pair.use === 'OnAlternate') return { ...lastLevel(value, controls), text: undefined, restValues }
  const slack = choice.pair.use === 'Dim' || choice.pair.use === 'DimFan' ? DIM_TOLERANCE : NUMBER_TOLERANCE
  const ranges = controls.flatMap((pair) => (pair.range === undefined ? [] : [pair.range]))
  const label = choice.pair.range === undefined ? plain(choice.pair.label) : undefined
  return {
    low: aboveOff(value - slack, value, controls),
    high: value + slack,
    text: undefined,
    restValues,
    ranges,
    label,
  }
}

/**
 * The status text counts where text was asked for; and on a label only together with a number that moved, or that was
 * there with that text before: by itself it would be what HomeSeer was told to display.
 */
export function outcomeOf(expected: Expectation, before: Observation, now: Observation): Outcome {
  if (expected.low === undefined || expected.high === undefined)
    return now.status.trim() === expected.text?.trim() ? 'reached' : 'elsewhere'
  if (now.value === undefined) return 'elsewhere'
  if (now.value >= expected.low && now.value <= expected.high) return 'reached'
  if (now.value === expected.shown) return 'reached'
  if (expected.restValues.includes(now.value)) return 'elsewhere'
  const isLabelled = expected.label !== undefined && expected.label !== '' && plain(now.status) === expected.label
  if (now.value === before.value) return isLabelled && plain(before.status) === expected.label ? 'reached' : 'elsewhere'
  return isLabelled ? 'reached' : 'moving'
}

/** A number that no command of the device leads to: where it rests, the device shows another number than it was told. */
export function isUnknownValue({ restValues, ranges = [], label }: Expectation, value: number | undefined): boolean {
  if (value === undefined || label === undefined) return false
  return !restValues.includes(value) && !ranges.some(({ start, end }) => value >= start && value <= end)
}

function plain(text: string): string {
  return text.normalize('NFC').trim().toLowerCase()
}

/** On to the last level ends wherever the dimmer was: anywhere above off. */
function lastLevel(value: number, controls: readonly ControlPair[]): { readonly low: number; readonly high: number } {
  const dim = controls.find((pair) => pair.use === 'Dim' || pair.use === 'DimFan')?.range
  if (dim === undefined) return { low: value, high: value }
  return { low: aboveOff(dim.start, value, controls), high: Math.max(value, dim.end) }
}

/** Off is no level of a lamp, however near it lies: one that stays dark was not dimmed to one per cent. */
function aboveOff(low: number, wanted: number, controls: readonly ControlPair[]): number {
  const off = controls.find((pair) => pair.use === 'Off')?.value
  return off !== undefined && off < wanted ? Math.max(low, off + NUMBER_TOLERANCE) : low
}

// Patience: how long a kind of device takes to get where it was told to go. A caller waits for `waitMs`; until `windowMs`
// nobody calls it failed, and a later arrival is noted.
//
//   Z-Wave locks 2–8 s · blinds 5–60 s · garage doors 10–20 s · battery devices at their next wake-up

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
