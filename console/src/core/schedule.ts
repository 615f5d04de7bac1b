/** Schedule: a week of heating times, as spec 1's schedule tools read and write them, one day at a time. */
import { listAt, numberAt, stringAt } from './json.ts'
import type { Json, JsonObject } from './json.ts'
import { line } from './text.ts'

export const DAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'] as const
export const DAY_MINUTES = 1_440
const DEFAULT_MAX_SLOTS = 12

export interface Slot {
  readonly startMinute: number
  readonly endMinute: number
  readonly celsius: number | undefined
}

export interface Program {
  readonly key: string
  readonly title: string
  /** `undefined`: hot water. */
  readonly zone: number | undefined
  readonly editable: boolean
  readonly maxSlots: number
  readonly hasTemperature: boolean
  /** By weekday; `undefined` where it was not read yet. */
  readonly days: readonly (readonly Slot[] | undefined)[]
}

export function programOf(json: Json): Program {
  const zone = numberAt(json, 'zone') ?? 0
  const kind = line(stringAt(json, 'hc') ?? '', 30)
  const isZone = kind === 'heating' || kind === 'zone' || kind === ''
  const isWater = kind === 'dhw'
  return {
    key: `${zone} ${kind}`,
    title: isWater ? 'Hot water' : isZone ? `Zone ${zone + 1}, heating` : kind.charAt(0).toUpperCase() + kind.slice(1),
    zone: isWater ? undefined : zone,
    editable: isWater || (isZone && zone <= 2),
    maxSlots: numberAt(json, 'config', 'max_slots') ?? DEFAULT_MAX_SLOTS,
    hasTemperature:
      json !== null && stringAt(json, 'hc') !== undefined && numberAt(json, 'config', 'temp_slots') !== 0 && !isWater,
    days: DAYS.map((day) => {
      const found = listAt(json, 'days').find(
        (one) => (stringAt(one, 'weekday') ?? '').toLowerCase() === day.toLowerCase(),
      )
      return found === undefined ? undefined : listAt(found, 'slots').map(slotOf)
    }),
  }
}

function slotOf(json: Json): Slot {
  const minutes = (which: 'start' | 'end'): number =>
    (numberAt(json, `${which}_hour`) ?? 0) * 60 + (numberAt(json, `${which}_minute`) ?? 0)
  return { startMinute: minutes('start'), endMinute: minutes('end'), celsius: numberAt(json, 'temperature_c') }
}

/** What is wrong with a day, or `undefined`. */
export function dayFlaw(slots: readonly Slot[], { maxSlots, hasTemperature }: Program): string | undefined {
  if (slots.length > maxSlots) return `A day holds ${maxSlots} times at most.`
  const ordered = slots.toSorted((left, right) => left.startMinute - right.startMinute)
  for (const [index, slot] of ordered.entries()) {
    if (slot.endMinute <= slot.startMinute) return `${timeText(slot.startMinute)} begins after it ends.`
    if (hasTemperature && slot.celsius === undefined) return `${timeText(slot.startMinute)} has no temperature.`
    const next = ordered[index + 1]
    if (next !== undefined && next.startMinute < slot.endMinute)
      return `${timeText(next.startMinute)} begins before the one before it ends.`
  }
  return undefined
}

export function writeArguments(program: Program, weekday: number, slots: readonly Slot[]): JsonObject {
  return {
    ...(program.zone === undefined ? {} : { zone: program.zone }),
    weekday,
    slots: slots
      .toSorted((left, right) => left.startMinute - right.startMinute)
      .map(({ startMinute, endMinute, celsius }) => ({
        start_hour: Math.floor(startMinute / 60),
        start_minute: startMinute % 60,
        end_hour: Math.floor(endMinute / 60),
        end_minute: endMinute % 60,
        ...(celsius === undefined ? {} : { temperature_c: celsius }),
      })),
  }
}

export function writerOf(program: Program): string {
  return program.zone === undefined
    ? 'ebus.v1.semantic.schedules.set_dhw_time_program'
    : 'ebus.v1.semantic.schedules.set_zone_time_program'
}

/** `24:00` is the end of the day. */
export function timeText(minute: number): string {
  return `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`
}

export function readTime(text: string): number | undefined {
  const match = /^(\d{1,2}):(\d{2})$/.exec(text.trim())
  if (match === null) return undefined
  const minute = Number(match[1]) * 60 + Number(match[2])
  return Number(match[2]) < 60 && minute <= DAY_MINUTES ? minute : undefined
}
