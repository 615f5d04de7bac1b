/** Schedule tools: replace one day of a weekly program. */
import { z } from 'zod'
import type { Call, Outcome } from '../../bus/call.ts'
import type { CallAssessment, Capability } from '../../bus/capability.ts'
import { defineChange } from '../../bus/capability-definition.ts'
import type { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import { PlaneFieldReader } from '../semantic/plane-reader.ts'
import { resolveZoneNumber } from '../semantic/zone-choice.ts'
import { busArgument, ebusIdempotencyKeyArgument } from './arguments.ts'
import { createEbusOutputSchema, ebusFamilyEnvelope } from './ebus-envelope.ts'
import { createEbusArgumentFault } from './faults.ts'
import type { EbusToolContext } from './ebus-tool-context.ts'
import { resolveBusLockKey, findHeatingBus } from './ebus-tool-context.ts'
import { timerSlotOutputSchema } from './plane-schemas.ts'
import { timerSlotInputSchema, weekdayInputSchema } from './schedule-request.ts'
import type {
  DayScheduleRequest,
  DayWriteContext,
  ProgramDayScheduleRequest,
  DayWritePlan,
} from './day-schedule-write.ts'
import {
  DHW_PROGRAM_ID,
  planDayScheduleWrite,
  assessDayScheduleWrite,
  writeDaySchedule,
  dryRunDayScheduleWrite,
} from './day-schedule-write.ts'

/** Time for twelve slots: written, read back and, if necessary, restored, with the regulator's pauses. */
const TIMEOUT_SECONDS = 90

const shared = {
  weekday: weekdayInputSchema,
  slots: z.array(timerSlotInputSchema).max(12).describe('All slots of the day; an empty list leaves none.'),
  dryRun: z.boolean().exactOptional().describe('Say what would be written, and write nothing.'),
  idempotency_key: ebusIdempotencyKeyArgument.exactOptional(),
  bus: busArgument,
}

/** Per telegram, as in the contract; whether the day was stored is in `success` and `read_back`. */
const slotResults = z.array(
  z.object({
    slot_index: z.int(),
    accepted: z.boolean(),
    error_code: z.int().nullable().describe('What the regulator answered; null when it did not.'),
    error_description: z.string().exactOptional(),
  }),
)

const output = createEbusOutputSchema(
  z.object({
    success: z.boolean(),
    slot_results: slotResults,
    before: z.array(timerSlotOutputSchema).exactOptional(),
    read_back: z.array(timerSlotOutputSchema).exactOptional().describe('The day as the regulator keeps it now.'),
    restored: z.boolean().exactOptional().describe('Whether the day was put back to what it was.'),
    dry_run: z.literal(true).exactOptional(),
    would_write: z.array(timerSlotOutputSchema).exactOptional(),
    error: z.string().exactOptional(),
  }),
)

export function createScheduleChangeTools(
  context: EbusToolContext,
  pause: (ms: number) => Promise<void>,
): readonly Capability[] {
  const common = {
    output,
    effect: 'writes',
    // A day is replaced completely, so the same call twice has the same result.
    idempotent: true,
    family: ebusFamilyEnvelope,
    timeoutSeconds: TIMEOUT_SECONDS,
    lock: (body: JsonObject): string => resolveBusLockKey(context, body),
  } as const
  return [
    defineChange({
      ...common,
      name: 'ebus.v1.semantic.schedules.set_zone_time_program',
      title: 'Replace a day of a zone’s heating schedule',
      description:
        'Replaces all heating slots of one weekday of one zone. The regulator applies it at once: from now on that day’s rooms follow it. Reads the day back and restores the old one if it was not kept as written.',
      input: z.strictObject({
        zone: z
          .union([z.int().min(0).max(2), z.string().trim().min(1).max(64)])
          .describe('The number, 0 is the first zone; or its name, or its id such as zone-1.'),
        ...shared,
      }),
      ...programSteps(
        context,
        pause,
        ({ zone, ...request }: DayScheduleRequest & { readonly zone: number | string }) => {
          const chosen = zoneOf(context, zone, request.bus)
          return chosen.ok ? ok({ id: { zone: chosen.value, channel: 'heating' }, request }) : chosen
        },
      ),
    }),
    defineChange({
      ...common,
      name: 'ebus.v1.semantic.schedules.set_dhw_time_program',
      title: 'Replace a day of the hot water schedule',
      description:
        'Replaces the times of one weekday in which hot water is made. A temperature, if given, is the one hot water setpoint. Reads the day back and restores the old one if it was not kept as written.',
      input: z.strictObject(shared),
      ...programSteps(context, pause, (request: DayScheduleRequest) => ok({ id: DHW_PROGRAM_ID, request })),
    }),
  ]
}

/** The functions of both changes, which differ only in how they name the program. */
function programSteps<Input>(
  context: EbusToolContext,
  pause: DayWriteContext['pause'],
  meant: (input: Input) => Result<ProgramDayScheduleRequest, Fault>,
): {
  readonly plan: (input: Input, call: Call) => Promise<Result<DayWritePlan, Fault>>
  readonly assess: (plan: DayWritePlan) => CallAssessment
  readonly act: (plan: DayWritePlan, input: Input, call: Call) => Promise<Outcome>
  readonly rehearse: (plan: DayWritePlan, input: Input, call: Call) => Promise<Outcome>
} {
  return {
    plan: async (input, call) => {
      const day = meant(input)
      return day.ok ? planDayScheduleWrite(day.value, { context, call, pause }) : day
    },
    assess: assessDayScheduleWrite,
    act: (plan, _, call) => writeDaySchedule(plan, { context, call, pause }),
    rehearse: (plan, _, call) => dryRunDayScheduleWrite(plan, { context, call, pause }),
  }
}

/** The contract's numbers begin with 0; names are looked up. */
function zoneOf(context: EbusToolContext, zone: number | string, bus: string | undefined): Result<number, Fault> {
  if (typeof zone === 'number') return ok(zone)
  const heating = findHeatingBus(context, bus)
  if (!heating.ok) return heating
  const chosen = resolveZoneNumber(new PlaneFieldReader(heating.value.installation), zone)
  return chosen.ok ? chosen : fail(createEbusArgumentFault('zone', chosen.fault))
}
