/** Heating: the planes of an eBUS snapshot (spec 1) as a house shows them. */
import { booleanAt, listAt, numberAt, objectAt, stringAt } from './json.ts'
import type { Json, JsonObject } from './json.ts'
import { line } from './text.ts'

export interface Room {
  readonly id: string
  readonly name: string
  readonly celsius: number | undefined
  readonly targetCelsius: number | undefined
  readonly humidityPct: number | undefined
  readonly action: string
  readonly mode: string
  /** When its temperature was measured. */
  readonly atMs: number
}

export interface Heating {
  readonly rooms: readonly Room[]
  readonly outsideCelsius: number | undefined
  readonly water: {
    readonly celsius: number | undefined
    readonly targetCelsius: number | undefined
    readonly mode: string
  }
  readonly boiler: {
    readonly flame: boolean | undefined
    readonly modulationPct: number | undefined
    readonly flowCelsius: number | undefined
    readonly pressureBar: number | undefined
    readonly pump: boolean | undefined
  }
  readonly missing: readonly string[]
  /** When each of these was measured. */
  readonly atMs: Readonly<Record<'outside' | 'water' | 'flame' | 'modulation' | 'flow' | 'pressure', number>>
}

export const HEATING_TOOL = 'ebus.v1.semantic.snapshot.get'
export const HEATING_PLANES = ['zones', 'dhw', 'boiler_status', 'system'] as const

/** How a room's target is set on this regulator, and between which numbers. */
export interface TargetSetting {
  readonly minimum: number
  readonly maximum: number
  /** The call that sets it, as the heating says it: `value` is the number. */
  readonly call: JsonObject
}

/** Among the methods of a device (`ebus.v1.registry.methods.list`); `undefined` when none of them sets it. */
export function targetSetting({ id }: Room, methods: Json): TargetSetting | undefined {
  const setting = listAt(methods)
    .flatMap((method) => listAt(method, 'settings'))
    .find((each) => stringAt(each, 'read_back', 'path') === `${id}.config.target_temp_c`)
  const [minimum, maximum] = [numberAt(setting, 'minimum'), numberAt(setting, 'maximum')]
  if (minimum === undefined || maximum === undefined) return undefined
  return { minimum, maximum, call: objectAt(setting, 'example', 'arguments') }
}

/** The arguments of `ebus.v1.settings.set` that set a room's target. */
export function targetArguments({ call }: TargetSetting, celsius: number): JsonObject {
  return { ...call, value: celsius, idempotency_key: `console-${randomHex()}` }
}

/** `randomUUID` is only for pages from HTTPS or from this machine, and a phone comes over plain HTTP. */
function randomHex(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** `fieldAtMs` by the paths of the tool's answer: a value is as old as itself, not as the oldest one beside it. */
export function heatingOf(data: Json, fieldAtMs: (path: string) => number): Heating {
  const planes = ['planes'] as const
  const water = [...planes, 'dhw'] as const
  const boiler = [...planes, 'boiler_status', 'state'] as const
  const system = [...planes, 'system', 'state'] as const
  return {
    rooms: listAt(data, ...planes, 'zones').map((zone) => roomOf(zone, fieldAtMs)),
    outsideCelsius: numberAt(data, ...system, 'outdoor_temperature'),
    water: {
      celsius: numberAt(data, ...water, 'state', 'current_temp_c'),
      targetCelsius: numberAt(data, ...water, 'config', 'target_temp_c'),
      mode: stringAt(data, ...water, 'config', 'operating_mode') ?? '',
    },
    boiler: {
      flame: booleanAt(data, ...boiler, 'flame_active'),
      modulationPct: numberAt(data, ...boiler, 'modulation_pct'),
      flowCelsius: numberAt(data, ...boiler, 'flow_temperature_c'),
      pressureBar:
        numberAt(data, ...boiler, 'water_pressure_bar') ?? numberAt(data, ...system, 'system_water_pressure'),
      pump: booleanAt(data, ...boiler, 'central_heating_pump_active'),
    },
    missing: listAt(data, 'error_planes').map((plane) => line(stringAt(plane, 'plane') ?? 'something', 40)),
    atMs: {
      outside: fieldAtMs('system.state.outdoor_temperature'),
      water: fieldAtMs('dhw.state.current_temp_c'),
      flame: fieldAtMs('boiler_status.state.flame_active'),
      modulation: fieldAtMs('boiler_status.state.modulation_pct'),
      flow: fieldAtMs('boiler_status.state.flow_temperature_c'),
      pressure: fieldAtMs(
        numberAt(data, ...boiler, 'water_pressure_bar') === undefined
          ? 'system.state.system_water_pressure'
          : 'boiler_status.state.water_pressure_bar',
      ),
    },
  }
}

function roomOf(zone: Json, fieldAtMs: (path: string) => number): Room {
  const id = stringAt(zone, 'id') ?? ''
  return {
    id,
    atMs: fieldAtMs(`zones.${id}.state.current_temp_c`),
    name: line(stringAt(zone, 'name') ?? stringAt(zone, 'id') ?? 'Room', 60),
    celsius: numberAt(zone, 'state', 'current_temp_c'),
    targetCelsius: numberAt(zone, 'config', 'target_temp_c'),
    humidityPct: numberAt(zone, 'state', 'current_humidity_pct'),
    action: line(stringAt(zone, 'state', 'hvac_action') ?? '', 20),
    mode: line(
      [stringAt(zone, 'config', 'operating_mode'), stringAt(zone, 'config', 'preset')].filter(Boolean).join(', '),
      40,
    ),
  }
}
