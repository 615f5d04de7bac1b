/**
 * Heating: the zones, the hot water and the heat source of the eBUS, as things of the home.
 */
import type { Json } from '../core/json.ts'
import { readJsonValueAt, readNumberAt, readObjectsAt, readTextAt } from './json-path.ts'
import type { Rooms } from './room.ts'
import { formatDegrees } from './sentence-text.ts'

export interface HomeZone {
  readonly id: string
  readonly name: string
  readonly room: string | undefined
  readonly celsius: number | undefined
  readonly humidity: number | undefined
  /** The temperature that the heating aims at now, and why. */
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

export interface HeatSourceReadings {
  readonly isBurning: boolean | undefined
  readonly flowCelsius: number | undefined
  readonly pressureBar: number | undefined
}

export interface HomeHeating {
  readonly zones: readonly HomeZone[]
  readonly hotWater: HotWater | undefined
  readonly source: HeatSourceReadings | undefined
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
export function decodeHomeHeating(planes: Json | undefined, rooms: Rooms): HomeHeating | undefined {
  const zones = readObjectsAt(planes, 'zones').map((zone): HomeZone => {
    const name = readTextAt(zone, 'name') ?? ''
    const reason = readTextAt(zone, 'state', 'wanted_now_reason') ?? readTextAt(zone, 'state', 'wanted_reason')
    return {
      id: readTextAt(zone, 'id') ?? '',
      name,
      room: rooms.join(name, 'ebus'),
      celsius: readNumberAt(zone, 'state', 'current_temp_c'),
      humidity: readNumberAt(zone, 'state', 'current_humidity_pct'),
      wanted: readNumberAt(zone, 'state', 'wanted_now_c') ?? readNumberAt(zone, 'config', 'target_temp_c'),
      because: reason === undefined ? undefined : REASONS[reason],
      mode: readTextAt(zone, 'config', 'operating_mode'),
      isHeating: readTextAt(zone, 'state', 'hvac_action') === 'heating',
    }
  })
  const water = readJsonValueAt(planes, 'dhw')
  const boiler = readJsonValueAt(planes, 'boiler_status')
  if (zones.length === 0 && water === undefined && boiler === undefined) return undefined
  const flame = readJsonValueAt(boiler, 'state', 'flame_active')
  return {
    zones,
    hotWater:
      readNumberAt(water, 'state', 'current_temp_c') === undefined &&
      readNumberAt(water, 'config', 'target_temp_c') === undefined
        ? undefined
        : {
            celsius: readNumberAt(water, 'state', 'current_temp_c'),
            target: readNumberAt(water, 'config', 'target_temp_c'),
            mode: readTextAt(water, 'config', 'operating_mode'),
          },
    source:
      boiler === undefined || boiler === null
        ? undefined
        : {
            isBurning: typeof flame === 'boolean' ? flame : undefined,
            flowCelsius: readNumberAt(boiler, 'state', 'flow_temperature_c'),
            pressureBar: readNumberAt(boiler, 'state', 'water_pressure_bar'),
          },
    outsideCelsius:
      readNumberAt(planes, 'system', 'state', 'outside_temp_c') ??
      readNumberAt(planes, 'system', 'state', 'outdoor_temperature_c'),
  }
}

export function formatZoneSentence({ celsius, wanted, because }: HomeZone): string {
  if (celsius === undefined && wanted === undefined) return 'nothing is known of its temperature yet'
  const now = celsius === undefined ? 'its temperature is not known' : `it is ${formatDegrees(celsius)}`
  const target =
    wanted === undefined ? '' : `, ${formatDegrees(wanted)} is wanted${because === undefined ? '' : ` (${because})`}`
  return `${now}${target}`
}
