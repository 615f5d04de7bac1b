/**
 * Schedule request: checks requested slots against the limits of the program.
 */
import { z } from 'zod'
import type { ArgumentIssue } from '../../bus/capability.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import type { TimerSlot, TimerProgramLimits, TimerProgramId } from '../semantic/timer-program.ts'
import { END_OF_DAY_MINUTES, WEEKDAYS } from '../semantic/timer-program.ts'

const hour = z.int().min(0).max(24)
const minute = z.int().min(0).max(59)

export const timerSlotInputSchema = z.strictObject({
  start_hour: hour,
  start_minute: minute,
  end_hour: hour.describe('24 only as 24:00, the end of the day.'),
  end_minute: minute,
  temperature_c: z
    .number()
    // 5 to 30 °C for rooms, up to 70 for hot water; the program's own limits are narrower and checked below.
    .min(5)
    .max(70)
    .exactOptional()
    .describe('Needed for zones of a 720 controller. For hot water: the one setpoint, or left out to keep it.'),
})
/** 0 is Monday; a day's name, or the unambiguous beginning of one, is accepted as well. */
export const weekdayInputSchema = z
  .union([
    z.int().min(0).max(6),
    z
      .string()
      .trim()
      .max(16)
      .refine((weekday) => findWeekday(weekday) >= 0, 'a weekday: monday to sunday, mon to sun, or 0 to 6'),
  ])
  .transform((weekday) => (typeof weekday === 'number' ? weekday : findWeekday(weekday)))
  .describe('monday to sunday, or 0 to 6; 0 is Monday.')

/** -1 stands for none. */
function findWeekday(weekday: string): number {
  const text = weekday.toLowerCase()
  return text.length < 2 ? -1 : WEEKDAYS.findIndex((day) => day.startsWith(text))
}

export type TimerSlotInput = z.output<typeof timerSlotInputSchema>

/** The facts about the program that the check needs. */
export interface TimerProgramFacts {
  readonly id: TimerProgramId
  readonly config: TimerProgramLimits
  /** The temperature of a slot without one of its own, if that is known. */
  readonly setpoint: number | undefined
}

/** Returns the slots in order of the day, or all mistakes at once. */
export function parseTimerSlots(
  slots: readonly TimerSlotInput[],
  facts: TimerProgramFacts,
): Result<readonly TimerSlot[], readonly ArgumentIssue[]> {
  const issues: ArgumentIssue[] = []
  const say = (path: readonly (string | number)[], message: string): void =>
    void issues.push({ path: ['slots', ...path], message, code: 'custom' })
  const { maxSlots } = facts.config
  if (slots.length > maxSlots) say([], `this program holds ${maxSlots} slots a day`)
  // With the index in the request, so that mistakes name the caller's own place, whatever the order.
  const timed = slots.map((slot, index) => ({ slot: asSlot(slot), index }))
  for (const { slot, index } of timed) {
    if (slot.endMinute > END_OF_DAY_MINUTES || slot.startMinute >= END_OF_DAY_MINUTES)
      say([index], 'a day ends at 24:00')
    else if (slot.startMinute >= slot.endMinute) say([index], 'ends before it begins')
    checkSteps(slot, facts, (message) => say([index], message))
    checkTemperature(slot, facts, (message) => say([index, 'temperature_c'], message))
  }
  const ordered = timed.toSorted((left, right) => left.slot.startMinute - right.slot.startMinute)
  for (const [at, { slot, index }] of ordered.entries()) {
    const next = ordered[at + 1]
    if (next !== undefined && next.slot.startMinute < slot.endMinute) say([next.index], `overlaps with slot ${index}`)
  }
  if (facts.id.channel === 'dhw' && new Set(slots.map((slot) => slot.temperature_c)).size > 1)
    say([], 'hot water has one temperature for the whole day: give all slots the same, or none')
  return issues.length > 0 ? fail(issues) : ok(ordered.map(({ slot }) => withoutSetpoint(slot, facts)))
}

function asSlot(slot: TimerSlotInput): TimerSlot {
  return {
    startMinute: slot.start_hour * 60 + slot.start_minute,
    endMinute: slot.end_hour * 60 + slot.end_minute,
    celsius: slot.temperature_c,
  }
}

/** B555 accepts any minute and calls its resolution advisory; the 700 family stores ten-minute steps only. */
function checkSteps(
  { startMinute, endMinute }: TimerSlot,
  { config }: TimerProgramFacts,
  say: (message: string) => void,
): void {
  // Of the programs that can be written, only the 700 family's have no temperatures and ten-minute steps.
  const strict = !config.hasTemperature && config.resolutionMinutes > 1
  if (strict && [startMinute, endMinute].some((time) => time % config.resolutionMinutes !== 0))
    say(`times in steps of ${config.resolutionMinutes} minutes`)
}

function checkTemperature(
  { celsius }: TimerSlot,
  { id, config, setpoint }: TimerProgramFacts,
  say: (message: string) => void,
): void {
  const { hasTemperature, minCelsius = -Infinity, maxCelsius = Infinity } = config
  if (!hasTemperature) {
    // For a program without temperatures, a slot with one is refused, unless it is the setpoint anyway.
    if (celsius !== undefined && celsius !== setpoint)
      say(
        setpoint === undefined
          ? 'this program keeps no temperatures; leave it out'
          : `this program keeps no temperatures: its slots heat to the setpoint, now ${setpoint}`,
      )
    return
  }
  if (celsius === undefined) {
    if (id.channel === 'heating' || id.channel === 'cooling') say('is needed: every slot of a zone has its own')
    return
  }
  if (celsius < minCelsius || celsius > maxCelsius) say(`this program takes ${minCelsius} to ${maxCelsius} °C`)
}

/** The requested temperature is the setpoint anyway; the slot itself cannot store it. */
function withoutSetpoint(slot: TimerSlot, { config }: TimerProgramFacts): TimerSlot {
  return config.hasTemperature ? slot : { ...slot, celsius: undefined }
}
