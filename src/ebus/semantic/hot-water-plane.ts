/**
 * Hot water plane: the cylinder's temperature and setpoint.
 */
import { omitUndefined } from '../../core/json.ts'
import { PlaneFieldReader } from './plane-reader.ts'
import type { SemanticPlane, PlaneSources } from './plane-reader.ts'
import { HOT_WATER_REGISTERS } from './regulator-register-map.ts'

export const DHW_MODES = ['off', 'auto', 'heat'] as const
const MANUAL = 2
const ONE_LOAD = 6
/** Values that were not read for so long are left out instead of being shown as old. */
const FORGET_MS = 900_000

export function buildDhwPlane(parts: PlaneSources, nowMs: number): SemanticPlane {
  const reader = new PlaneFieldReader(parts)
  const current = reader.reading(HOT_WATER_REGISTERS.current)
  const target = reader.reading(HOT_WATER_REGISTERS.target)
  const seen = [current, target].filter((reading) => reading !== undefined)
  // Values of an earlier run are shown, marked as old, until this one has read them.
  if (seen.every(({ atMs, source }) => source !== 'cache' && nowMs - atMs > FORGET_MS)) return reader.plane(null)
  const mode = reader.number('config.operating_mode', HOT_WATER_REGISTERS.operatingMode)
  const special = reader.number('state.special_function', HOT_WATER_REGISTERS.specialFunction)
  return reader.plane({
    state: omitUndefined({
      current_temp_c: reader.number('state.current_temp_c', HOT_WATER_REGISTERS.current),
      special_function: special === undefined ? undefined : String(special),
    }),
    config: omitUndefined({
      operating_mode: formatDhwMode(mode),
      preset: special === ONE_LOAD ? 'boost' : mode === MANUAL ? 'manual' : 'schedule',
      target_temp_c: reader.number('config.target_temp_c', HOT_WATER_REGISTERS.target),
      holiday_start_date: reader.text('config.holiday_start_date', HOT_WATER_REGISTERS.holidayStart),
      holiday_end_date: reader.text('config.holiday_end_date', HOT_WATER_REGISTERS.holidayEnd),
    }),
  })
}

/** An unknown mode counts as automatic, as in the regulator itself. */
export function formatDhwMode(mode: number | undefined): string {
  return DHW_MODES[mode ?? 1] ?? 'auto'
}
