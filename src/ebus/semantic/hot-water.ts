/**
 * Hot water: the cylinder as a resident knows it, how warm it is and how warm it shall be.
 */
import { PlaneReader, omitUnknownFields } from './plane-reader.ts'
import type { SemanticPlane, PlaneSources } from './plane-reader.ts'
import { HOT_WATER_REGISTERS } from './register-map.ts'

export const DHW_MODES = ['off', 'auto', 'heat'] as const
const MANUAL = 2
const ONE_LOAD = 6
/** Nobody has read it for so long: then nothing is said rather than something old. */
const FORGET_MS = 900_000

export function buildDhwPlane(parts: PlaneSources, nowMs: number): SemanticPlane {
  const reader = new PlaneReader(parts)
  const current = reader.reading(HOT_WATER_REGISTERS.current)
  const target = reader.reading(HOT_WATER_REGISTERS.target)
  const seen = [current, target].filter((reading) => reading !== undefined)
  // What an earlier run left behind is shown, and shown as old, until this one has read it.
  if (seen.every(({ atMs, source }) => source !== 'cache' && nowMs - atMs > FORGET_MS)) return reader.plane(null)
  const mode = reader.number('config.operating_mode', HOT_WATER_REGISTERS.operatingMode)
  const special = reader.number('state.special_function', HOT_WATER_REGISTERS.specialFunction)
  return reader.plane({
    state: omitUnknownFields({
      current_temp_c: reader.number('state.current_temp_c', HOT_WATER_REGISTERS.current),
      special_function: special === undefined ? undefined : String(special),
    }),
    config: omitUnknownFields({
      operating_mode: formatDhwMode(mode),
      preset: special === ONE_LOAD ? 'boost' : mode === MANUAL ? 'manual' : 'schedule',
      target_temp_c: reader.number('config.target_temp_c', HOT_WATER_REGISTERS.target),
      holiday_start_date: reader.text('config.holiday_start_date', HOT_WATER_REGISTERS.holidayStart),
      holiday_end_date: reader.text('config.holiday_end_date', HOT_WATER_REGISTERS.holidayEnd),
    }),
  })
}

/** What is not known counts as automatic, as the regulator itself does. */
export function formatDhwMode(mode: number | undefined): string {
  return DHW_MODES[mode ?? 1] ?? 'auto'
}
