/**
 * Schedules plane: the weekly programs of a regulator.
 */
import { omitUndefined } from '../../core/json.ts'
import type { JsonObject } from '../../core/json.ts'
import { PlaneFieldReader } from './plane-reader.ts'
import type { SemanticPlane, PlaneSources } from './plane-reader.ts'
import type { TimerSlot, TimerProgramLimits } from './timer-program.ts'
import { WEEKDAYS } from './timer-program.ts'
import type { PartlyReadTimerProgram } from './schedule-reads.ts'
import { readPartlyKnownTimerProgram, listTimerProgramIds } from './schedule-reads.ts'

export function buildSchedulesPlane(parts: PlaneSources): SemanticPlane {
  const reader = new PlaneFieldReader(parts)
  const { regulator, zonesKnown } = parts.topology
  if (regulator?.timers === undefined || regulator.timers === 'none' || !zonesKnown) return reader.plane(null)
  const programs = listTimerProgramIds(parts.topology)
    .map((id) => readPartlyKnownTimerProgram(regulator, id, parts.shadow))
    .filter((program) => program !== undefined)
  if (programs.length === 0) return reader.plane(null)
  for (const program of programs) noteFreshness(reader, program)
  return reader.plane({ programs: programs.map(programJson) })
}

/** A program is as fresh as the oldest of the telegrams it was put together from. */
function noteFreshness(reader: PlaneFieldReader, { zone, channel, keys }: PartlyReadTimerProgram): void {
  const oldest = keys
    .map((key) => reader.readingOf(key, 'discovery', (payload) => payload))
    .filter((reading) => reading !== undefined)
    .toSorted((left, right) => Number(right.invalidated) - Number(left.invalidated) || left.atMs - right.atMs)
    .at(0)
  reader.take(`${zone}.${channel}`, oldest)
}

/** Days of which not every slot was read yet are left out, not shown shorter than they are. */
function programJson({ zone, channel, config, counts, days }: PartlyReadTimerProgram): JsonObject {
  const daysJson = days.flatMap((slots, weekday) => (slots === undefined ? [] : [dayJson(weekday, slots)]))
  return omitUndefined({
    zone,
    hc: channel,
    config: config === undefined ? undefined : configJson(config),
    slots_used: counts,
    days: daysJson.length === 0 ? undefined : daysJson,
  })
}

function configJson(config: TimerProgramLimits): JsonObject {
  return omitUndefined({
    max_slots: config.maxSlots,
    time_resolution: config.resolutionMinutes,
    min_duration: config.minMinutes,
    has_temperature: config.hasTemperature,
    temp_slots: config.temperatureSlots,
    min_temp_c: config.minCelsius,
    max_temp_c: config.maxCelsius,
  })
}

function dayJson(weekday: number, slots: readonly TimerSlot[]): JsonObject {
  return { weekday: WEEKDAYS[weekday] ?? String(weekday), slots: slots.map(toTimerSlotJson) }
}

export function toTimerSlotJson({ startMinute, endMinute, celsius }: TimerSlot): JsonObject {
  return {
    start_hour: Math.floor(startMinute / 60),
    start_minute: startMinute % 60,
    end_hour: Math.floor(endMinute / 60),
    end_minute: endMinute % 60,
    ...omitUndefined({
      temperature_c: celsius,
      temperature_raw: celsius === undefined ? undefined : Math.round(celsius * 10),
    }),
  }
}
