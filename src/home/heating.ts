/**
 * Heating: the zones, the hot water and the heat source of the eBUS, in the words of the home.
 */
import type { Json } from '../core/json.ts'
import { valueAt, numberAt, objectsAt, textAt } from './json-path.ts'
import type { Rooms } from './room.ts'
import { sayDegrees } from './say.ts'

export interface HomeZone {
  readonly id: string
  readonly name: string
  readonly room: string | undefined
  readonly celsius: number | undefined
  readonly humidity: number | undefined
  /** How warm it shall be now, and why. */
  readonly wanted: number | undefined
  readonly because: string | undefined
  readonly mode: string | undefined
  readonly isHeating: boolean
}

export interface HotWater {
  readonly celsius: number | undefined
  readonly target: number | undefined
  readonly mode: string | undefined
}

export interface HomeHeatSource {
  readonly isBurning: boolean | undefined
  readonly flowCelsius: number | undefined
  readonly pressureBar: number | undefined
}

export interface HomeHeating {
  readonly zones: readonly HomeZone[]
  readonly hotWater: HotWater | undefined
  readonly source: HomeHeatSource | undefined
  readonly outsideCelsius: number | undefined
}

const REASONS: Readonly<Record<string, string>> = {
  system_off: 'the heating is off',
  zone_off: 'this zone is off',
  quick_veto: 'a quick veto runs',
  holiday: 'it is on holiday',
  day_away: 'a day away was set',
  day_at_home: 'a day at home was set',
  party: 'party',
  manual: 'it is set by hand',
  night_mode: 'night mode',
  program_slot: 'the weekly program says so',
  outside_program: 'the weekly program lowers it',
  program: 'the weekly program says so',
}

/** `planes`: the data of `ebus.v1.semantic.snapshot.get`. */
export function readHeating(planes: Json | undefined, rooms: Rooms): HomeHeating | undefined {
  const zones = objectsAt(planes, 'zones').map((zone): HomeZone => {
    const name = textAt(zone, 'name') ?? ''
    const reason = textAt(zone, 'state', 'wanted_now_reason') ?? textAt(zone, 'state', 'wanted_reason')
    return {
      id: textAt(zone, 'id') ?? '',
      name,
      room: rooms.join(name),
      celsius: numberAt(zone, 'state', 'current_temp_c'),
      humidity: numberAt(zone, 'state', 'current_humidity_pct'),
      wanted: numberAt(zone, 'state', 'wanted_now_c') ?? numberAt(zone, 'config', 'target_temp_c'),
      because: reason === undefined ? undefined : REASONS[reason],
      mode: textAt(zone, 'config', 'operating_mode'),
      isHeating: textAt(zone, 'state', 'hvac_action') === 'heating',
    }
  })
  const water = valueAt(planes, 'dhw')
  const boiler = valueAt(planes, 'boiler_status')
  if (zones.length === 0 && water === undefined && boiler === undefined) return undefined
  const flame = valueAt(boiler, 'state', 'flame_active')
  return {
    zones,
    hotWater:
      numberAt(water, 'state', 'current_temp_c') === undefined &&
      numberAt(water, 'config', 'target_temp_c') === undefined
        ? undefined
        : {
            celsius: numberAt(water, 'state', 'current_temp_c'),
            target: numberAt(water, 'config', 'target_temp_c'),
            mode: textAt(water, 'config', 'operating_mode'),
          },
    source:
      boiler === undefined || boiler === null
        ? undefined
        : {
            isBurning: typeof flame === 'boolean' ? flame : undefined,
            flowCelsius: numberAt(boiler, 'state', 'flow_temperature_c'),
            pressureBar: numberAt(boiler, 'state', 'water_pressure_bar'),
          },
    outsideCelsius:
      numberAt(planes, 'system', 'state', 'outside_temp_c') ??
      numberAt(planes, 'system', 'state', 'outdoor_temperature_c'),
  }
}

export function sayZone({ celsius, wanted, because }: HomeZone): string {
  if (celsius === undefined && wanted === undefined) return 'nothing is known of its temperature yet'
  const now = celsius === undefined ? 'its temperature is not known' : `it is ${sayDegrees(celsius)}`
  const target =
    wanted === undefined ? '' : `, ${sayDegrees(wanted)} is wanted${because === undefined ? '' : ` (${because})`}`
  return `${now}${target}`
}
