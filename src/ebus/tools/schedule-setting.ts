/**
 * Schedule setting: the same slots for several days of a weekly program, written day by day, with what puts each of
 * them back.
 *
 * Pure, given its house.
 */
import { z } from 'zod'
import type { Outcome } from '../../bus/call.ts'
import type { CallAssessment } from '../../bus/capability.ts'
import type { Fault } from '../../core/fault.ts'
import { isJsonObject } from '../../core/json.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import type { TimerProgramId } from '../semantic/timer-program.ts'
import { WEEKDAYS } from '../semantic/timer-program.ts'
import type { TimerSlotInput } from './schedule-request.ts'
import { weekdayInputSchema } from './schedule-request.ts'
import {
  assessDayScheduleWrite,
  planDayScheduleWrite,
  dryRunDayScheduleWrite,
  writeDaySchedule,
} from './day-schedule-write.ts'
import type { DayWriteContext, DayWritePlan } from './day-schedule-write.ts'

const clockTime = z.string().regex(/^([01]?\d|2[0-4]):[0-5]\d$/, 'a time of day such as 06:30')

export const weekdaySlotsSchema = z.strictObject({
  weekdays: z.array(weekdayInputSchema).min(1).max(7),
  slots: z
    .array(z.strictObject({ from: clockTime, to: clockTime, temperature_c: z.number().min(5).max(70).exactOptional() }))
    .max(12)
    .describe('All slots of such a day; an empty list leaves none.'),
})
export type WeekdaysWithSlots = z.output<typeof weekdaySlotsSchema>

export interface ScheduleChangeRequest {
  readonly id: TimerProgramId
  readonly days: WeekdaysWithSlots
  readonly dryRun?: boolean
  readonly idempotency_key?: string
  readonly bus?: string
}

/** Plans every day, so that everything that can be refused is refused before the first day is written. */
export async function planScheduleChange(
  { id, days, ...rest }: ScheduleChangeRequest,
  job: DayWriteContext,
): Promise<Result<readonly DayWritePlan[], Fault>> {
  const plans: DayWritePlan[] = []
  for (const weekday of new Set(days.weekdays)) {
    const plan = await planDayScheduleWrite(
      { id, request: { ...rest, weekday, slots: days.slots.map(asSlotInput) } },
      job,
    )
    if (!plan.ok) return plan
    plans.push(plan.value)
  }
  return ok(plans)
}

/** For all days together: the last one is the actuator, and the others are touched. */
export function assessScheduleChange(plans: readonly DayWritePlan[]): CallAssessment {
  const [last, ...others] = plans.map(assessDayScheduleWrite).toReversed()
  if (last === undefined) throw new RangeError('a schedule without days')
  return {
    ...last,
    touches: others.map(({ target = '' }) => target),
    keyedChange: { days: [last, ...others].map(({ keyedChange = {} }) => keyedChange) },
    preview: { days: [last, ...others].map(({ preview = {} }) => preview) },
  }
}

/**
 * Stops at the first day that could not be written; the answer contains the earlier days, with the calls that undo
 * them.
 */
export async function setScheduleDays(
  plans: readonly DayWritePlan[],
  days: WeekdaysWithSlots,
  { undoCall, ...job }: DayWriteContext & { readonly undoCall: (value: JsonObject) => JsonObject },
): Promise<Outcome> {
  const { call } = job
  const changes: JsonObject[] = []
  const undo: JsonObject[] = []
  let last: Outcome | undefined
  for (const plan of plans) {
    const { weekday } = plan.request
    last = call.rehearsal ? await dryRunDayScheduleWrite(plan, job) : await writeDaySchedule(plan, job)
    const data =
      last.ok && isJsonObject(last.value.data)
        ? last.value.data['data']
        : last.ok
          ? undefined
          : last.fault.details?.['data']
    if (isJsonObject(data)) {
      const before = slotsOf(data['before'])
      const after = call.rehearsal ? null : slotsOf(data['read_back'])
      changes.push({
        name: WEEKDAYS[weekday] ?? '',
        before,
        after,
        wanted: days.slots.map((slot) => ({ ...slot })),
      })
      if (last.ok && !call.rehearsal) undo.push(undoCall({ weekdays: [WEEKDAYS[weekday] ?? ''], slots: before }))
    }
    if (!last.ok)
      return fail({ ...last.fault, details: { ...last.fault.details, data: { confirmed: false, changes, undo } } })
  }
  if (last === undefined || !last.ok || !isJsonObject(last.value.data)) throw new RangeError('a schedule without days')
  const data = { confirmed: !call.rehearsal, changes, undo, ...(call.rehearsal ? { dry_run: true } : {}) }
  return ok({ ...last.value, data: { ...last.value.data, data } })
}

function asSlotInput({ from, to, temperature_c: celsius }: WeekdaysWithSlots['slots'][number]): TimerSlotInput {
  const [startHour = 0, startMinute = 0] = from.split(':').map(Number)
  const [endHour = 0, endMinute = 0] = to.split(':').map(Number)
  return {
    start_hour: startHour,
    start_minute: startMinute,
    end_hour: endHour,
    end_minute: endMinute,
    ...(celsius === undefined ? {} : { temperature_c: celsius }),
  }
}

/** The present programs in the form in which they are set. */
function slotsOf(slots: Json | undefined): readonly JsonObject[] {
  if (!Array.isArray(slots)) return []
  const text = (hour: Json | undefined, minute: Json | undefined): string =>
    [hour, minute].map((part) => String(Number(part)).padStart(2, '0')).join(':')
  return slots.filter(isJsonObject).map((slot) => ({
    from: text(slot['start_hour'], slot['start_minute']),
    to: text(slot['end_hour'], slot['end_minute']),
    ...(slot['temperature_c'] === undefined ? {} : { temperature_c: slot['temperature_c'] }),
  }))
}
