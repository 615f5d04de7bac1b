/**
 * Control choice and read-back: finds the control pair and value that HomeSeer accepts for a request, or the reason
 * why there is none.
 *
 * Everything that HomeSeer would answer with a bare `error` is refused here first, with a reason: a value between the
 * buttons, a fraction where the range has no decimals, a label nobody has.
 */
import { fail, ok, type Result } from '../../core/result.ts'
import type { ControlPair } from '../wire/device.ts'
import { CONTROL_TYPE_CODES, type ControlUse } from '../wire/control-use.ts'
import type { HomeseerRequestDefinition } from '../wire/http-exchange.ts'
import {
  createControlByIndexRequest,
  createControlByValueRequest,
  type ControlRequestReply,
} from '../wire/json-requests.ts'
import type { DeviceKind } from './device-classification.ts'
import type { HomeseerDevice } from './device.ts'
import { findRootRef, type HomeseerDeviceCatalog } from './device-catalog-and-event-consequences.ts'

export type DeviceControlRequest =
  | { readonly kind: 'value'; readonly value: number }
  | { readonly kind: 'label'; readonly label: string }
  /** `value` is needed if the use has a range, such as Dim. */
  | { readonly kind: 'use'; readonly use: ControlUse; readonly value?: number | undefined }
  /** For text boxes and colour pickers. */
  | { readonly kind: 'text'; readonly text: string }

export interface DeviceControlChoice {
  readonly pair: ControlPair
  /** `undefined` if a text is sent instead. */
  readonly value: number | undefined
  readonly text: string | undefined
}

/** `offers` lists what would be accepted, for a person to choose from. */
export type DeviceControlFault =
  | { readonly kind: 'no-controls' }
  | { readonly kind: 'no-such-value'; readonly value: number; readonly offers: readonly string[] }
  | { readonly kind: 'too-many-decimals'; readonly value: number; readonly decimals: number }
  | { readonly kind: 'no-such-label'; readonly label: string; readonly offers: readonly string[] }
  | { readonly kind: 'several-labels'; readonly label: string; readonly offers: readonly string[] }
  | { readonly kind: 'no-such-use'; readonly use: ControlUse; readonly offers: readonly string[] }
  | { readonly kind: 'value-needed'; readonly use: ControlUse; readonly offers: readonly string[] }
  | { readonly kind: 'no-text-control' }

export function chooseControlPair(
  controls: readonly ControlPair[],
  request: DeviceControlRequest,
): Result<DeviceControlChoice, DeviceControlFault> {
  if (controls.length === 0) return fail({ kind: 'no-controls' })
  switch (request.kind) {
    case 'value':
      return chooseByValue(controls, request.value)
    case 'label':
      return chooseByLabel(controls, request.label)
    case 'use':
      return chooseByUse(controls, request)
    default:
      return chooseByText(controls, request.text)
  }
}

export function createDeviceControlHttpRequest(
  choice: DeviceControlChoice,
): HomeseerRequestDefinition<ControlRequestReply> {
  if (choice.value === undefined) return createControlByIndexRequest(choice.pair.ref, choice.pair.index, choice.text)
  return createControlByValueRequest(choice.pair.ref, choice.value)
}

/** What a device accepts: `Off (0)`, `Dim 1–98%`. */
export function describeControls(controls: readonly ControlPair[]): readonly string[] {
  return controls.map((pair) => {
    if (takesText(pair)) return `${pair.label} (text)`
    if (pair.range === undefined) return `${pair.label} (${pair.value ?? pair.text})`
    const { start, end, decimals } = pair.range
    return `${pair.label} (${start} to ${end}${decimals > 0 ? `, ${decimals} decimals` : ''})`
  })
}

/** A button with this value takes precedence over a range that includes it. */
function chooseByValue(
  controls: readonly ControlPair[],
  value: number,
): Result<DeviceControlChoice, DeviceControlFault> {
  const numeric = controls.filter((pair) => !takesText(pair))
  const button = numeric.find((pair) => pair.range === undefined && pair.value === value)
  if (button !== undefined) return ok({ pair: button, value, text: undefined })
  const ranges = numeric.filter(({ range }) => range !== undefined && value >= range.start && value <= range.end)
  const fitting = ranges.find((pair) => decimalsOf(value) <= (pair.range?.decimals ?? 0))
  if (fitting !== undefined) return ok({ pair: fitting, value, text: undefined })
  const decimals = Math.max(...ranges.map((pair) => pair.range?.decimals ?? 0))
  if (ranges.length > 0) return fail({ kind: 'too-many-decimals', value, decimals })
  return fail({ kind: 'no-such-value', value, offers: describeControls(controls) })
}

/** Finds a label as it is, or a range's label with the number filled in: `Dim 42%` for `Dim (value)%`. */
function chooseByLabel(
  controls: readonly ControlPair[],
  label: string,
): Result<DeviceControlChoice, DeviceControlFault> {
  const wanted = plain(label)
  const offers = describeControls(controls)
  const same = controls.filter((pair) => pair.range === undefined && !takesText(pair) && plain(pair.label) === wanted)
  const [pair, second] = same
  if (second !== undefined && second.value !== pair?.value) return fail({ kind: 'several-labels', label, offers })
  if (pair?.value !== undefined) return ok({ pair, value: pair.value, text: undefined })
  for (const ranged of controls) {
    const value = filledIn(ranged, label)
    if (value !== undefined) return chooseByValue([ranged], value)
  }
  return fail({ kind: 'no-such-label', label, offers })
}

function chooseByUse(
  controls: readonly ControlPair[],
  { use, value }: { readonly use: ControlUse; readonly value?: number | undefined },
): Result<DeviceControlChoice, DeviceControlFault> {
  const having = use === 'None' ? [] : controls.filter((pair) => pair.use === use)
  const [pair] = having
  if (pair === undefined) {
    const uses = new Set(controls.map((one) => one.use).filter((one) => one !== 'None'))
    return fail({ kind: 'no-such-use', use, offers: [...uses] })
  }
  if (value !== undefined) return chooseByValue(having, value)
  if (pair.range !== undefined || pair.value === undefined)
    return fail({ kind: 'value-needed', use, offers: describeControls(having) })
  return ok({ pair, value: pair.value, text: undefined })
}

function chooseByText(controls: readonly ControlPair[], text: string): Result<DeviceControlChoice, DeviceControlFault> {
  const pair = controls.find(takesText)
  return pair === undefined ? fail({ kind: 'no-text-control' }) : ok({ pair, value: undefined, text })
}

function takesText(pair: ControlPair): boolean {
  return pair.type === CONTROL_TYPE_CODES.textBox || pair.type === CONTROL_TYPE_CODES.colourPicker
}

function plain(label: string): string {
  return label.normalize('NFC').trim().toLowerCase().replaceAll(/\s+/g, ' ')
}

function filledIn(pair: ControlPair, label: string): number | undefined {
  if (pair.range === undefined) return undefined
  const given = plain(label)
  for (const template of [pair.label, `${pair.range.prefix}(value)${pair.range.suffix}`]) {
    const [before, after, more] = plain(template).split('(value)')
    if (before === undefined || after === undefined || more !== undefined) continue
    if (!given.startsWith(before) || !given.endsWith(after)) continue
    const middle = given.slice(before.length, given.length - after.length)
    if (/^-?\d{1,9}(\.\d{1,9})?$/.test(middle)) return Number(middle)
  }
  return undefined
}

/** The number of decimals in decimal notation: 21.5 has one, 1e-7 has seven. */
function decimalsOf(value: number): number {
  const [mantissa = '', exponent = '0'] = String(value).split('e')
  return Math.max(0, (mantissa.split('.')[1]?.length ?? 0) - Number(exponent))
}

// Outcome: whether what a device shows after a command is what was asked for.
//
//   reached     the value asked for, one that the command leads to, one that this device is known to show for it, or
//               another one with the text of the button that was pressed: many devices show another number than they are
//               told
//   moving      something that is neither a rest position nor the old value: a lock between bolts, a blind on its way
//   elsewhere   another rest position, or no change

export type ControlReadBackOutcome = 'reached' | 'moving' | 'elsewhere'

export interface DeviceObservation {
  readonly value: number | undefined
  readonly status: string
}

export interface ControlExpectation {
  /** Any value from `low` to `high` is right; `undefined` when only the text can be compared. */
  readonly low: number | undefined
  readonly high: number | undefined
  readonly text: string | undefined
  readonly restValues: readonly number[]
  /** Ranges of other commands. */
  readonly ranges?: readonly { readonly start: number; readonly end: number }[]
  /** The label of the button, compared without regard to case. */
  readonly label?: string | undefined
  /** The value that this device showed when the same command was sent before. */
  readonly shown?: number | undefined
}

const NUMBER_TOLERANCE = 1e-6
/** Dimmers round on their way to the lamp and back. */
const DIM_TOLERANCE = 1

export function computeControlExpectation(
  choice: DeviceControlChoice,
  controls: readonly ControlPair[],
): ControlExpectation {
  const restValues = controls.flatMap((pair) =>
    pair.range === undefined && pair.value !== undefined ? [pair.value] : [],
  )
  const { value, text } = choice
  if (value === undefined) return { low: undefined, high: undefined, text, restValues }
  if (choice.pair.use === 'OnAlternate') return { ...lastLevel(value, controls), text: undefined, restValues }
  const slack = choice.pair.use === 'Dim' || choice.pair.use === 'DimFan' ? DIM_TOLERANCE : NUMBER_TOLERANCE
  const ranges = controls.flatMap((pair) => (pair.range === undefined ? [] : [pair.range]))
  const label = choice.pair.range === undefined ? plainStatus(choice.pair.label) : undefined
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
 * Compares what is shown with what is expected. The status text alone counts only if a text was set. A label counts
 * only together with a number that changed, or that had this text before: the text by itself would be what HomeSeer was
 * told to display.
 */
export function compareWithExpectation(
  expected: ControlExpectation,
  before: DeviceObservation,
  now: DeviceObservation,
): ControlReadBackOutcome {
  if (expected.low === undefined || expected.high === undefined)
    return now.status.trim() === expected.text?.trim() ? 'reached' : 'elsewhere'
  if (now.value === undefined) return 'elsewhere'
  if (now.value >= expected.low && now.value <= expected.high) return 'reached'
  if (now.value === expected.shown) return 'reached'
  if (expected.restValues.includes(now.value)) return 'elsewhere'
  const isLabelled = expected.label !== undefined && expected.label !== '' && plainStatus(now.status) === expected.label
  if (now.value === before.value)
    return isLabelled && plainStatus(before.status) === expected.label ? 'reached' : 'elsewhere'
  return isLabelled ? 'reached' : 'moving'
}

/**
 * Whether the value belongs to no command of the device; if it rests there, the device shows another number than it was
 * sent.
 */
export function isValueOutsideControls(
  { restValues, ranges = [], label }: ControlExpectation,
  value: number | undefined,
): boolean {
  if (value === undefined || label === undefined) return false
  return !restValues.includes(value) && !ranges.some(({ start, end }) => value >= start && value <= end)
}

function plainStatus(text: string): string {
  return text.normalize('NFC').trim().toLowerCase()
}

/** "On to the last level" may end at any value above off. */
function lastLevel(value: number, controls: readonly ControlPair[]): { readonly low: number; readonly high: number } {
  const dim = controls.find((pair) => pair.use === 'Dim' || pair.use === 'DimFan')?.range
  if (dim === undefined) return { low: value, high: value }
  return { low: aboveOff(dim.start, value, controls), high: Math.max(value, dim.end) }
}

/** Off is not a level of a lamp, however close: a lamp that stays dark was not dimmed to one per cent. */
function aboveOff(low: number, wanted: number, controls: readonly ControlPair[]): number {
  const off = controls.find((pair) => pair.use === 'Off')?.value
  return off !== undefined && off < wanted ? Math.max(low, off + NUMBER_TOLERANCE) : low
}

// Verification timing: how long a kind of device takes to reach a state. A caller waits for `waitMs`; until `windowMs`
// the change does not count as failed, and a later arrival is recorded.
//
//   Z-Wave locks 2–8 s · blinds 5–60 s · garage doors 10–20 s · battery devices at their next wake-up

export interface VerificationTiming {
  readonly waitMs: number
  readonly windowMs: number
  /** Whether the device may report nothing at all until it has arrived. */
  readonly slow: boolean
}

const SECOND = 1_000
const SLOW: Partial<Record<DeviceKind, Omit<VerificationTiming, 'slow'>>> = {
  blind: { waitMs: 20 * SECOND, windowMs: 90 * SECOND },
  door: { waitMs: 25 * SECOND, windowMs: 60 * SECOND },
  lock: { waitMs: 12 * SECOND, windowMs: 30 * SECOND },
  valve: { waitMs: 10 * SECOND, windowMs: 60 * SECOND },
  main_valve: { waitMs: 10 * SECOND, windowMs: 60 * SECOND },
  // Alarms have an exit delay.
  alarm: { waitMs: 5 * SECOND, windowMs: 120 * SECOND },
}
/** A battery device wakes up only at intervals; Z-Wave's usual interval is an hour. */
const ASLEEP: VerificationTiming = { waitMs: 3 * SECOND, windowMs: 3_900 * SECOND, slow: true }

/** `longestMs` is the owner's limit for the wait of a call, `usualMs` that for devices that react at once. */
export function chooseVerificationTiming(
  device: HomeseerDevice,
  catalog: HomeseerDeviceCatalog,
  { usualMs, longestMs }: { readonly usualMs: number; readonly longestMs: number },
): VerificationTiming {
  const slow = SLOW[device.kind]
  if (slow !== undefined)
    return { waitMs: Math.max(Math.min(slow.waitMs, longestMs), usualMs), windowMs: slow.windowMs, slow: true }
  if (hasBattery(device, catalog)) return ASLEEP
  return { waitMs: usualMs, windowMs: Math.max(30 * SECOND, usualMs), slow: false }
}

function hasBattery(device: HomeseerDevice, catalog: HomeseerDeviceCatalog): boolean {
  const root = catalog.byRef.get(findRootRef(device))
  return (root?.childRefs ?? []).some((ref) => catalog.byRef.get(ref)?.capabilities.includes('battery') === true)
}
