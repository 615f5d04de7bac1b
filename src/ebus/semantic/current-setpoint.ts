/**
 * Current setpoint: the temperature that a zone aims at now, and why.
 *
 *   off ▸ quick veto ▸ holiday ▸ a day away or at home ▸ manual ▸ a slot of the weekly program ▸ outside of them
 *
 * The temperature is the regulator's own, if it provides one; the reason follows from the settings.
 */
import { readBusTime, formatBusDate } from './bus-clock.ts'
import type { BusDateTime } from './bus-clock.ts'
import type { PlaneFieldReader } from './plane-reader.ts'
import { ZONE_REGISTERS } from './regulator-register-map.ts'
import type { TimerSlot } from './timer-program.ts'
import { formatMinuteOfDay } from './timer-program.ts'
import { readPartlyKnownTimerProgram } from './schedule-reads.ts'

export const SETPOINT_REASONS = [
  'system_off',
  'zone_off',
  'quick_veto',
  'holiday',
  'day_away',
  'day_at_home',
  'party',
  'manual',
  'night_mode',
  'program_slot',
  'outside_program',
  'program',
] as const
export type SetpointReason = (typeof SETPOINT_REASONS)[number]

/** The values of a zone that decide; modes and special functions by their own names. */
export interface ZoneOperatingState {
  readonly systemOff: boolean
  readonly mode: 'off' | 'auto' | 'manual' | 'night'
  readonly special: 'none' | 'quick_veto' | 'day_away' | 'day_at_home' | 'party'
  readonly onHoliday: boolean
}

export interface CurrentSetpoint {
  readonly reason: SetpointReason
  /** The present slot: `06:00-22:00`. */
  readonly slot: string | undefined
  /** The temperature by the settings; the regulator's own takes precedence. */
  readonly celsius: number | undefined
}

export function computeCurrentSetpoint(
  reader: PlaneFieldReader,
  orders: ZoneOperatingState,
  {
    instance,
    dayCelsius,
    nowMs,
  }: { readonly instance: number; readonly dayCelsius: number | undefined; readonly nowMs: number },
): CurrentSetpoint {
  const because = (reason: SetpointReason, celsius?: number): CurrentSetpoint => ({ reason, celsius, slot: undefined })
  const night = reader.peek(ZONE_REGISTERS.nightSetpoint, instance)
  if (orders.systemOff) return because('system_off')
  if (orders.mode === 'off') return because('zone_off')
  if (orders.special === 'quick_veto')
    return because('quick_veto', reader.peek(ZONE_REGISTERS.quickVetoSetpoint, instance))
  if (orders.onHoliday) return because('holiday', reader.peek(ZONE_REGISTERS.holidaySetpoint, instance))
  if (orders.special !== 'none') return because(orders.special)
  if (orders.mode === 'manual') return because('manual', dayCelsius)
  if (orders.mode === 'night') return because('night_mode', night)
  const time = readBusTime(reader.shadow, nowMs)
  const slots = time === undefined ? undefined : daySlots(reader, instance, time)
  // The program's present slot is only known once clock and day were read.
  if (time === undefined || slots === undefined) return because('program')
  const slot = slots.find(({ startMinute, endMinute }) => time.minute >= startMinute && time.minute < endMinute)
  if (slot === undefined) return because('outside_program', night)
  return { reason: 'program_slot', slot: slotText(slot), celsius: slot.celsius ?? dayCelsius }
}

/** Whether today is within a holiday, including its first and last day. */
export function isHolidayActive(reader: PlaneFieldReader, instance: number, nowMs: number): boolean {
  const [start, end] = [ZONE_REGISTERS.holidayStart, ZONE_REGISTERS.holidayEnd].map(
    (register) => reader.reading(register, instance)?.value,
  )
  const time = readBusTime(reader.shadow, nowMs)
  if (time === undefined || typeof start !== 'string' || typeof end !== 'string') return false
  const today = formatBusDate(time)
  return start <= today && today <= end
}

function daySlots(reader: PlaneFieldReader, zone: number, { weekday }: BusDateTime): readonly TimerSlot[] | undefined {
  const { regulator } = reader.topology
  if (regulator === undefined || regulator.timers === undefined || regulator.timers === 'none') return undefined
  return readPartlyKnownTimerProgram(regulator, { zone, channel: 'heating' }, reader.shadow)?.days[weekday]
}

function slotText({ startMinute, endMinute }: TimerSlot): string {
  return `${formatMinuteOfDay(startMinute)}-${formatMinuteOfDay(endMinute)}`
}
