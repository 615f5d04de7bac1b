/**
 * Timer program: a day of a weekly program, and the two ways regulators write it down.
 *
 *   720 family, B555   A3 what a program can hold   A4 slots per day   A5 read a slot   A6 write a slot
 *   700 family, B524   03 S1 S2 S3 WD ▸ pairs of ten-minute steps      04 S1 S2 S3 WD and the pairs
 */
import { VAILLANT_MANUFACTURER_CODE as VAILLANT } from '../wire/device-identity.ts'
import type { EbusRequest } from '../adapter/ebus-connection.ts'
import type { WeeklyProgramProtocol } from '../registry/heating-product.ts'

export const WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const

export const TIMER_PROGRAM_CHANNELS = ['heating', 'cooling', 'dhw', 'circulation', 'silent'] as const
export type TimerProgramChannel = (typeof TIMER_PROGRAM_CHANNELS)[number]

/** A program, named as B555 names it: hot water and what goes with it have no zone of their own. */
export interface TimerProgramId {
  readonly zone: number
  readonly channel: TimerProgramChannel
}

export const NO_ZONE_NUMBER = 0xff

/** Minutes since midnight; 1440 is the end of the day. */
export interface TimerSlot {
  readonly startMinute: number
  readonly endMinute: number
  /** `undefined` where the slot has no temperature of its own. */
  readonly celsius: number | undefined
}

export interface TimerProgramLimits {
  readonly maxSlots: number
  readonly resolutionMinutes: number
  readonly minMinutes: number
  readonly hasTemperature: boolean
  readonly temperatureSlots: number
  readonly minCelsius: number | undefined
  readonly maxCelsius: number | undefined
}

const OK = 0x00
const NO_TEMPERATURE = 0xffff
const DAYS = 7

/** `undefined`: this regulator has no such program. */
export function decodeTimerProgramLimits(payload: Uint8Array): TimerProgramLimits | undefined {
  const [status, maxSlots = 0, resolution = 0, minimum = 0, has = 0, temperatures = 0, min = 0, max = 0] = payload
  if (status !== OK || payload.length < 8) return undefined
  const hasTemperature = has !== 0
  return {
    maxSlots,
    resolutionMinutes: resolution,
    minMinutes: minimum,
    hasTemperature,
    temperatureSlots: temperatures,
    minCelsius: hasTemperature ? min : undefined,
    maxCelsius: hasTemperature ? max : undefined,
  }
}

export function decodeTimerSlotCounts(payload: Uint8Array): readonly number[] | undefined {
  return payload[0] === OK && payload.length > DAYS ? [...payload.subarray(1, 1 + DAYS)] : undefined
}

export function decodeTimerSlot(payload: Uint8Array): TimerSlot | undefined {
  const [status, startHour = 0, startMinute = 0, endHour = 0, endMinute = 0, low = 0xff, high = 0xff] = payload
  if (status !== OK || payload.length < 7) return undefined
  const tenths = (high << 8) | low
  return {
    startMinute: startHour * 60 + startMinute,
    endMinute: endHour * 60 + endMinute,
    celsius: tenths === NO_TEMPERATURE ? undefined : tenths / 10,
  }
}

/** A6 ZZ HH DD SI SC hh mm hh mm TT TT: one slot, and how many its day has from now on. */
export function encodeTimerSlotWrite(
  { zone, channel }: TimerProgramId,
  at: { readonly weekday: number; readonly index: number; readonly count: number },
  slot: TimerSlot,
): Uint8Array {
  const tenths = slot.celsius === undefined ? NO_TEMPERATURE : Math.round(slot.celsius * 10)
  return Uint8Array.of(
    0xa6,
    writeZone(zone, channel, slot),
    TIMER_PROGRAM_CHANNELS.indexOf(channel),
    at.weekday,
    at.index,
    at.count,
    Math.floor(slot.startMinute / 60),
    slot.startMinute % 60,
    Math.floor(slot.endMinute / 60),
    slot.endMinute % 60,
    tenths & 0xff,
    tenths >> 8,
  )
}

/**
 * A whole day with a temperature is refused for the zone that is none, and taken for zone 0: it is the same program.
 */
function writeZone(zone: number, channel: TimerProgramChannel, { startMinute, endMinute, celsius }: TimerSlot): number {
  const wholeDay = startMinute === 0 && endMinute === END_OF_DAY_MINUTES
  return channel === 'dhw' && wholeDay && celsius !== undefined ? 0 : zone
}

export const END_OF_DAY_MINUTES = 1_440
/** Ten-minute steps of the 700 family; 90 is the end of the day and also marks a pair that is not used. */
const STEP_MINUTES = 10
const LAST_STEP = 0x90
export const B524_SLOTS_PER_DAY = 3

/** S1 S2 S3: group, zone, channel. */
export function encodeB524ProgramSelector({ zone, channel }: TimerProgramId): readonly [number, number, number] {
  switch (channel) {
    case 'heating':
      return [0x03, zone, 0x02]
    case 'cooling':
      return [0x03, zone, 0x01]
    case 'dhw':
      return [0x01, 0x00, 0x01]
    case 'circulation':
      return [0x01, 0x00, 0x02]
    default:
      return [0x00, 0x00, 0x02]
  }
}

/** Whose program a selector of the 700 family names; `undefined` for ventilation, tariffs and what nobody knows. */
export function decodeB524ProgramChannel(selector: readonly number[]): TimerProgramChannel | undefined {
  const [, zone = 0] = selector
  return TIMER_PROGRAM_CHANNELS.find((channel) =>
    encodeB524ProgramSelector({ zone, channel }).every((byte, at) => byte === selector[at]),
  )
}

/** A flag byte and three pairs, or the pairs alone. `undefined`: no such program. */
export function decodeB524Day(payload: Uint8Array): readonly TimerSlot[] | undefined {
  const pairs = payload.length === 2 * B524_SLOTS_PER_DAY + 1 ? payload.subarray(1) : payload
  if (pairs.length !== 2 * B524_SLOTS_PER_DAY || pairs.some((step) => step > LAST_STEP)) return undefined
  const slots: TimerSlot[] = []
  for (let at = 0; at < pairs.length; at += 2) {
    const [start = LAST_STEP, end = LAST_STEP] = pairs.subarray(at)
    if (start < end)
      slots.push({ startMinute: start * STEP_MINUTES, endMinute: end * STEP_MINUTES, celsius: undefined })
  }
  return slots
}

/** Throws for what does not fit: whoever writes checks first. */
export function encodeB524DayWrite(
  selector: readonly [number, number, number],
  weekday: number,
  slots: readonly TimerSlot[],
): Uint8Array {
  if (slots.length > B524_SLOTS_PER_DAY) throw new RangeError(`${slots.length} slots, ${B524_SLOTS_PER_DAY} fit`)
  const pairs = Array.from({ length: B524_SLOTS_PER_DAY }, (_, index) => {
    const slot = slots[index]
    return slot === undefined
      ? [LAST_STEP, LAST_STEP]
      : [slot.startMinute / STEP_MINUTES, slot.endMinute / STEP_MINUTES]
  }).flat()
  if (!pairs.every(Number.isInteger)) throw new RangeError('times in steps of ten minutes')
  return Uint8Array.from([0x04, ...selector, weekday, ...pairs])
}

export function createTimerBusRequest(service: WeeklyProgramProtocol, target: number, data: Uint8Array): EbusRequest {
  return { target, primary: VAILLANT, secondary: service === 'b555' ? 0x55 : 0x24, data }
}

/** What B555 says about a write that it did not take. */
export function formatTimerWriteRefusal(code: number): string {
  switch (code) {
    case 0x01:
      return 'a time or temperature is out of range'
    case 0x03:
      return 'the regulator has no such program'
    case 0x06:
      return 'the regulator refuses this combination'
    default:
      return `the regulator answers ${code}`
  }
}

/** `06:00`, from the minutes since midnight. */
export function formatMinuteOfDay(minute: number): string {
  return [Math.floor(minute / 60), minute % 60].map((part) => String(part).padStart(2, '0')).join(':')
}

/** Slots of no length say nothing; what is left is what the day does. */
export function removeEmptyTimerSlots(slots: readonly TimerSlot[]): readonly TimerSlot[] {
  return slots.filter(({ startMinute, endMinute }) => startMinute < endMinute)
}

/** Temperatures are only held against each other where one was asked for. */
export function isSameDaySchedule(wanted: readonly TimerSlot[], found: readonly TimerSlot[]): boolean {
  const [left, right] = [removeEmptyTimerSlots(wanted), removeEmptyTimerSlots(found)]
  return (
    left.length === right.length &&
    left.every((slot, index) => {
      const other = right[index]
      return (
        other !== undefined &&
        slot.startMinute === other.startMinute &&
        slot.endMinute === other.endMinute &&
        (slot.celsius === undefined || Math.abs(slot.celsius - (other.celsius ?? Infinity)) < 0.05)
      )
    })
  )
}
