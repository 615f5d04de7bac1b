/**
 * Schedule request: the slots that somebody asks for, checked against what the program can hold.
 */
import { z } from 'zod'
import type { ArgumentIssue } from '../../bus/capability.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import type { TimerSlot, ProgramConfig, TimerProgramId } from '../semantic/timer-program.ts'
import { END_OF_DAY_MINUTES, WEEKDAYS } from '../semantic/timer-program.ts'

const hour = z.int().min(0).max(24)
const minute = z.int().min(0).max(59)

export const slotInputSchema = z.strictObject({
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
/** 0 is Monday; by its name, too, as the programs are read, or as much of it as tells it apart. */
export const weekdayInputSchema = z
  .union([
    z.int().min(0).max(6),
    z
      .string()
      .trim()
      .max(16)
      .refine((said) => findWeekday(said) >= 0, 'a weekday: monday to sunday, mon to sun, or 0 to 6'),
  ])
  .transform((said) => (typeof said === 'number' ? said : findWeekday(said)))
  .describe('monday to sunday, or 0 to 6; 0 is Monday.')

/** -1 for none. */
function findWeekday(said: string): number {
  const text = said.toLowerCase()
  return text.length < 2 ? -1 : WEEKDAYS.findIndex((day) => day.startsWith(text))
}

export type SlotInput = z.output<typeof slotInputSchema>

/** What the check needs to know of the program. */
export interface TimerProgramFacts {
  readonly id: TimerProgramId
  readonly config: ProgramConfig
  /** What a slot without a temperature of its own heats to, where that is known. */
  readonly setpoint: number | undefined
}

/** In order of the day. Every mistake at once. */
export function checkTimerSlots(
  slots: readonly SlotInput[],
  facts: TimerProgramFacts,
): Result<readonly TimerSlot[], readonly ArgumentIssue[]> {
  const issues: ArgumentIssue[] = []
  const say = (path: readonly (string | number)[], message: string): void =>
    void issues.push({ path: ['slots', ...path], message, code: 'custom' })
  const { maxSlots } = facts.config
  if (slots.length > maxSlots) say([], `this program holds ${maxSlots} slots a day`)
  // With the place in the request: mistakes are told where the caller finds them, whatever the order.
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

function asSlot(slot: SlotInput): TimerSlot {
  return {
    startMinute: slot.start_hour * 60 + slot.start_minute,
    endMinute: slot.end_hour * 60 + slot.end_minute,
    celsius: slot.temperature_c,
  }
}

/**
 * B555 takes any minute and calls its resolution advisory; the 700 family has no room for more than ten-minute steps.
 */
function checkSteps(
  { startMinute, endMinute }: TimerSlot,
  { config }: TimerProgramFacts,
  say: (message: string) => void,
): void {
  // Of the programs that can be written, only the 700 family's keep no temperatures and know steps of ten minutes.
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
    // A program that cannot keep a temperature must not seem to: unless it asks for what is set anyway.
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

/** The setpoint that was asked for is the one that is set anyway; the slot itself has no room for it. */
function withoutSetpoint(slot: TimerSlot, { config }: TimerProgramFacts): TimerSlot {
  return config.hasTemperature ? slot : { ...slot, celsius: undefined }
}
