/**
 * Resident setting request: what a resident asks for in words, as the registers that it takes, and what would put it
 * back.
 *
 *   room_temperature of Living, 21.5, for 2 hours   ▸   quick veto setpoint 21.5, quick veto hours 2
 *                                                   ◂   quick veto of Living: off
 */
import type { ArgumentIssue } from '../../bus/capability.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import { readBusTime, formatBusDate } from './bus-clock.ts'
import type { PlaneFieldReader } from './plane-reader.ts'
import type { RegulatorRegister, DecodedRegisterValue } from './register.ts'
import { encodeDateRegisterValue } from './register.ts'
import { HOT_WATER_REGISTERS, SYSTEM_REGISTERS, ZONE_REGISTERS } from './regulator-register-map.ts'
import { findDaySetpointRegister, readZoneName } from './zones-plane.ts'
import { formatIsoTime } from '../../toolbox/iso-time.ts'

/** What can be set, in a word; schedules are written day by day and have a tool part of their own. */
export const RESIDENT_SETTING_NAMES = [
  'room_temperature',
  'night_temperature',
  'quick_veto',
  'mode',
  'holiday',
  'holiday_temperature',
  'hot_water',
  'hot_water_temperature',
  'hot_water_mode',
  'heating',
] as const
export type ResidentSettingName = (typeof RESIDENT_SETTING_NAMES)[number]

export interface HolidayDates {
  readonly from: string
  readonly to: string
  readonly temperature_c?: number
}

export interface ResidentSettingRequest {
  readonly setting: ResidentSettingName
  /** From 0; of settings that belong to one. */
  readonly zone: number | undefined
  readonly value: number | string | HolidayDates
  readonly hours?: number
  readonly until?: string
}

/** One register and what it shall hold, in the order in which they have to be written. */
export interface SettingRegisterWrite {
  readonly register: RegulatorRegister
  readonly instance: number
  readonly value: number | string
  /** What a person calls it. */
  readonly name: string
}

/** A call of the same tool. */
export type SettingUndoArguments = JsonObject & { readonly setting: ResidentSettingName }

export interface ResidentSettingPlan {
  readonly steps: readonly SettingRegisterWrite[]
  /** What puts it back, given what the steps' registers held before; nothing where that is not known. */
  readonly undo: (before: readonly (DecodedRegisterValue | undefined)[]) => readonly SettingUndoArguments[]
}

const MODE_NUMBERS: Readonly<Record<string, number>> = { off: 0, auto: 1, manual: 2, heat: 2 }
const MODE_NAMES = ['off', 'auto', 'manual'] as const
const QUICK_VETO = 3
const ONE_CHARGE = 6
const VETO_HOURS = { min: 0.5, max: 12, step: 0.5 } as const
/** What a date is that nobody has set. */
const NO_DATE = '2015-01-01'

export const ZONE_SETTING_NAMES: ReadonlySet<ResidentSettingName> = new Set<ResidentSettingName>([
  'room_temperature',
  'night_temperature',
  'quick_veto',
  'mode',
  'holiday',
  'holiday_temperature',
])

export function planResidentSetting(
  reader: PlaneFieldReader,
  request: ResidentSettingRequest,
  nowMs: number,
): Result<ResidentSettingPlan, readonly ArgumentIssue[]> {
  const { setting, value, zone = 0 } = request
  const named = readZoneName(reader, zone)
  const one = (register: RegulatorRegister, target: number | string, name: string): SettingRegisterWrite => ({
    register,
    instance: ZONE_SETTING_NAMES.has(setting) ? zone : 0,
    value: target,
    name,
  })
  /** One number in one register, put back by the number that was there. */
  const plainNumber = (
    register: RegulatorRegister,
    name: string,
  ): Result<ResidentSettingPlan, readonly ArgumentIssue[]> => {
    const wrong = checkNumber(value, register)
    if (wrong !== undefined) return fail([wrong])
    return ok({
      steps: [one(register, value as number, name)],
      undo: ([before]) => (typeof before === 'number' ? [callOf(setting, named, before)] : []),
    })
  }
  const word = (
    register: RegulatorRegister,
    words: Readonly<Record<string, number>>,
    back: (before: number) => string | undefined,
  ): Result<ResidentSettingPlan, readonly ArgumentIssue[]> => {
    const number = typeof value === 'string' ? words[value.toLowerCase()] : undefined
    if (number === undefined) return fail([issue('value', `one of ${Object.keys(words).join(', ')}`)])
    return ok({
      steps: [one(register, number, setting)],
      undo: ([before]) => {
        const text = before === undefined ? undefined : back(Number(before))
        return text === undefined ? [] : [callOf(setting, named, text)]
      },
    })
  }
  const untimely = checkTimes(request)
  if (untimely !== undefined) return fail([untimely])
  switch (setting) {
    case 'room_temperature':
      return request.hours === undefined && request.until === undefined
        ? plainNumber(findDaySetpointRegister(reader, zone), 'day setpoint')
        : planVeto(reader, request, { zone, named, nowMs })
    case 'night_temperature':
      return plainNumber(ZONE_REGISTERS.nightSetpoint, 'night setpoint')
    case 'holiday_temperature':
      return plainNumber(ZONE_REGISTERS.holidaySetpoint, 'holiday setpoint')
    case 'quick_veto':
      return planVetoEnd(
        reader,
        word(ZONE_REGISTERS.specialFunction, { off: 0 }, () => undefined),
        { zone, named },
      )
    case 'mode':
      return word(ZONE_REGISTERS.operatingMode, MODE_NUMBERS, (before) => MODE_NAMES[before])
    case 'holiday':
      return planHoliday(value, { one, named, today: readToday(reader, nowMs) })
    case 'hot_water':
      return word(HOT_WATER_REGISTERS.specialFunction, { now: ONE_CHARGE, stop: 0 }, (before) =>
        before === ONE_CHARGE ? 'now' : 'stop',
      )
    case 'hot_water_temperature':
      return plainNumber(HOT_WATER_REGISTERS.target, 'hot water setpoint')
    case 'hot_water_mode':
      return word(HOT_WATER_REGISTERS.operatingMode, MODE_NUMBERS, (before) => MODE_NAMES[before])
    case 'heating':
      return word(SYSTEM_REGISTERS.systemOff, { on: 0, off: 1 }, (before) => (before === 1 ? 'off' : 'on'))
  }
}

/** What was meant for some hours must not be set for good. */
function checkTimes({ setting, hours, until }: ResidentSettingRequest): ArgumentIssue | undefined {
  if (hours !== undefined && until !== undefined) return issue('until', 'either hours or until, not both')
  if ((hours === undefined && until === undefined) || setting === 'room_temperature') return undefined
  return issue(
    hours === undefined ? 'until' : 'hours',
    `only for room_temperature: ${setting} holds until it is changed`,
  )
}

/** A quick veto that is ended goes on, where it is known what it was. */
function planVetoEnd(
  reader: PlaneFieldReader,
  plan: Result<ResidentSettingPlan, readonly ArgumentIssue[]>,
  { zone, named }: { readonly zone: number; readonly named: string },
): Result<ResidentSettingPlan, readonly ArgumentIssue[]> {
  if (!plan.ok) return plan
  const setpoint = reader.peek(ZONE_REGISTERS.quickVetoSetpoint, zone)
  const hours = reader.peek(ZONE_REGISTERS.quickVetoHours, zone)
  return ok({
    ...plan.value,
    undo: ([before]) => (isVeto(before) ? resumeVeto(named, setpoint, hours) : []),
  })
}

function isVeto(specialFunction: DecodedRegisterValue | undefined): boolean {
  return specialFunction === QUICK_VETO || specialFunction === 2
}

function resumeVeto(
  named: string,
  setpoint: DecodedRegisterValue | undefined,
  hours: DecodedRegisterValue | undefined,
): readonly SettingUndoArguments[] {
  if (typeof setpoint !== 'number' || typeof hours !== 'number') return []
  const rest = Math.min(VETO_HOURS.max, Math.max(VETO_HOURS.min, Math.round(hours * 2) / 2))
  return [{ ...callOf('room_temperature', named, setpoint), hours: rest }]
}

/** Another setpoint for some hours. A 700 controller has no register for them, and runs one for as long as it likes. */
function planVeto(
  reader: PlaneFieldReader,
  { value, hours, until }: ResidentSettingRequest,
  { zone, named, nowMs }: { readonly zone: number; readonly named: string; readonly nowMs: number },
): Result<ResidentSettingPlan, readonly ArgumentIssue[]> {
  const wrong = checkNumber(value, ZONE_REGISTERS.quickVetoSetpoint)
  if (wrong !== undefined) return fail([wrong])
  if (reader.topology.regulator?.timers === 'b524')
    return fail([issue(hours === undefined ? 'until' : 'hours', 'this regulator does not take a duration')])
  const length = until === undefined ? hours : hoursUntil(reader, until, nowMs)
  if (length === undefined)
    return fail([
      readBusTime(reader.shadow, nowMs) === undefined
        ? issue('until', 'the regulator’s clock is not known yet; give hours')
        : issue('until', 'a time of day such as 22:30, within the next twelve hours'),
    ])
  const rounded = Math.round(length / VETO_HOURS.step) * VETO_HOURS.step
  if (rounded < VETO_HOURS.min || rounded > VETO_HOURS.max)
    return fail([
      issue(until === undefined ? 'hours' : 'until', `${VETO_HOURS.min} to ${VETO_HOURS.max} hours from now`),
    ])
  const ran = isVeto(reader.peek(ZONE_REGISTERS.specialFunction, zone))
  const step = (register: RegulatorRegister, target: number, name: string): SettingRegisterWrite => ({
    register,
    instance: zone,
    value: target,
    name,
  })
  return ok({
    steps: [
      step(ZONE_REGISTERS.quickVetoSetpoint, value as number, 'quick veto setpoint'),
      step(ZONE_REGISTERS.quickVetoHours, rounded, 'quick veto hours'),
    ],
    undo: ([setpoint, left]) => (ran ? resumeVeto(named, setpoint, left) : [callOf('quick_veto', named, 'off')]),
  })
}

/** `22:30`, or `2026-11-17T22:30`, by the regulator's own clock. */
function hoursUntil(reader: PlaneFieldReader, until: string, nowMs: number): number | undefined {
  const parts = /^(?:(\d{4})-(\d\d)-(\d\d)T)?(\d{1,2}):(\d\d)$/.exec(until.trim())
  const now = readBusTime(reader.shadow, nowMs)
  if (parts === null || now === undefined) return undefined
  const [, year, month, day, hour, minute] = parts.map(Number)
  const clockMinute = (hour ?? 0) * 60 + (minute ?? 0)
  if (clockMinute > 1_440 || (minute ?? 0) > 59) return undefined
  const days =
    parts[1] === undefined
      ? Number(clockMinute <= now.minute)
      : (Date.UTC(year ?? 0, (month ?? 1) - 1, day) - Date.UTC(now.year, now.month - 1, now.day)) / 86_400_000
  return (days * 1_440 + clockMinute - now.minute) / 60
}

/** By the regulator's own clock, or by ours while nobody has heard that one. */
function readToday(reader: PlaneFieldReader, nowMs: number): string {
  const now = readBusTime(reader.shadow, nowMs)
  return now === undefined ? formatIsoTime(nowMs).slice(0, 10) : formatBusDate(now)
}

interface HolidayContext {
  readonly one: (register: RegulatorRegister, target: number | string, name: string) => SettingRegisterWrite
  readonly named: string
  /** The present date, such as 2026-12-20. */
  readonly today: string
}

function planHoliday(
  value: ResidentSettingRequest['value'],
  { one, named, today }: HolidayContext,
): Result<ResidentSettingPlan, readonly ArgumentIssue[]> {
  const dates = value === 'none' ? { from: NO_DATE, to: NO_DATE } : value
  if (typeof dates !== 'object') return fail([issue('value', 'from and to, as 2026-12-20, or none')])
  const { from, to, temperature_c: celsius } = dates
  for (const [which, date] of Object.entries({ from, to }))
    if (encodeDateRegisterValue(date) === undefined) return fail([issue(`value.${which}`, 'a date such as 2026-12-20')])
  if (to < from) return fail([issue('value.to', 'is before it begins')])
  if (value !== 'none' && to < today) return fail([issue('value.to', `is over already; today is ${today}`)])
  const wrong = celsius === undefined ? undefined : checkNumber(celsius, ZONE_REGISTERS.holidaySetpoint)
  if (wrong !== undefined) return fail([{ ...wrong, path: ['value', 'temperature_c'] }])
  return ok({
    steps: [
      ...(celsius === undefined ? [] : [one(ZONE_REGISTERS.holidaySetpoint, celsius, 'holiday setpoint')]),
      one(ZONE_REGISTERS.holidayStart, from, 'holiday from'),
      one(ZONE_REGISTERS.holidayEnd, to, 'holiday to'),
    ],
    undo: (before) => {
      const [start, end] = before.slice(-2)
      const [warm] = celsius === undefined ? [] : before
      const setpoint = typeof warm === 'number' ? [callOf('holiday_temperature', named, warm)] : []
      // A date that nobody has set reads as none, and a holiday that is over is none any more.
      if (typeof start !== 'string' || typeof end !== 'string' || end < today)
        return [...setpoint, callOf('holiday', named, 'none')]
      return [...setpoint, callOf('holiday', named, { from: start, to: end })]
    },
  })
}

function checkNumber(
  value: ResidentSettingRequest['value'],
  { user = [-Infinity, Infinity] }: RegulatorRegister,
): ArgumentIssue | undefined {
  const [min, max] = user
  return typeof value === 'number' && value >= min && value <= max
    ? undefined
    : issue('value', `a number from ${min} to ${max}`)
}

function callOf(setting: ResidentSettingName, zone: string, value: Json): SettingUndoArguments {
  return ZONE_SETTING_NAMES.has(setting) ? { setting, zone, value } : { setting, value }
}

function issue(path: string, message: string): ArgumentIssue {
  return { path: path.split('.'), message, code: 'custom' }
}
