/**
 * Resident setting arguments: the arguments and answers of the tools for residents' settings.
 */
import { z } from 'zod'
import { RESIDENT_SETTING_NAMES } from '../semantic/resident-setting-request.ts'
import { busArgument, ebusIdempotencyKeyArgument } from './arguments.ts'
import { createEbusOutputSchema } from './ebus-envelope.ts'
import { weekdaySlotsSchema } from './schedule-setting.ts'

const holidayDates = z.strictObject({
  from: z.string().describe('The first day, as 2026-12-20.'),
  to: z.string().describe('The last day.'),
  temperature_c: z.number().exactOptional(),
})

const SCHEDULES = ['schedule', 'hot_water_schedule'] as const

export const residentSettingInputSchema = z.strictObject({
  setting: z.enum([...RESIDENT_SETTING_NAMES, ...SCHEDULES]),
  zone: z
    .union([z.string().trim().min(1).max(64), z.int().min(1).max(16)])
    .exactOptional()
    .describe('The room: its name, or its number as in zone-1. Can be left out where there is one.'),
  value: z
    .union([z.number(), z.string().trim().max(32), holidayDates, weekdaySlotsSchema])
    .describe(
      'Temperatures in °C. mode, hot_water_mode: off, auto, manual. heating: on, off. hot_water: now, stop. quick_veto: off. holiday: from and to, or none. schedule, hot_water_schedule: weekdays and their slots.',
    ),
  hours: z.number().min(0.5).max(12).exactOptional().describe('room_temperature: only for this long.'),
  until: z.string().max(16).exactOptional().describe('room_temperature: only until then, as 22:30.'),
  dryRun: z.boolean().exactOptional().describe('Say what would be changed, and change nothing.'),
  idempotency_key: ebusIdempotencyKeyArgument.exactOptional(),
  bus: busArgument,
})
export type ResidentSettingToolInput = z.output<typeof residentSettingInputSchema>

const shownValue = z.union([z.number(), z.string(), z.boolean(), z.array(z.record(z.string(), z.unknown()))])
const change = z.object({
  name: z.string(),
  before: shownValue.nullable(),
  after: shownValue.nullable().describe('As it was read back; null if it was not.'),
  wanted: shownValue,
})

export const residentSettingChangeOutputSchema = createEbusOutputSchema(
  z.object({
    setting: z.string(),
    zone: z.string().exactOptional(),
    confirmed: z.boolean().describe('Whether everything reads back as it was set.'),
    changes: z.array(change),
    undo: z
      .array(z.object({ tool: z.string(), arguments: z.record(z.string(), z.unknown()) }))
      .describe('The calls that put it back to what it was; none where that is not known.'),
    dry_run: z.literal(true).exactOptional(),
  }),
)
