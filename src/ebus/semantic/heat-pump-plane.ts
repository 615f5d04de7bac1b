/**
 * Heat pump plane: the state of the compressor, the temperatures of source and sink, power and yield.
 */
import { omitUndefined } from '../../core/json.ts'
import type { JsonObject } from '../../core/json.ts'
import { HEAT_PUMP_REGISTERS, HEAT_PUMP_STATE_BLOCK_NUMBER } from './heat-pump-register-map.ts'
import type { HeatPumpRegister } from './heat-pump-register-map.ts'
import { PlaneFieldReader } from './plane-reader.ts'
import type { SemanticPlane, PlaneSources } from './plane-reader.ts'
import { toHeatPumpReadKey, toStatusReadKey } from './read-key.ts'
import { HEAT_PUMP_STATE_NAMES } from './fixed-layout-blocks.ts'

/** The index of the state in the bytes of the block. */
const STATE_AT = 4

export function buildHeatPumpPlane(parts: PlaneSources): SemanticPlane {
  const reader = new PlaneFieldReader(parts)
  const pump = parts.topology.heatPump
  if (pump === undefined) return reader.plane(null)
  const number = (path: string, register: HeatPumpRegister): number | undefined =>
    reader.take(path, reader.readingOf(toHeatPumpReadKey(pump.address, register), register.freshness, register.read))
  const environment = number('state.environment_power_kw', HEAT_PUMP_REGISTERS.environmentPower)
  const electric = number('state.electric_power_kw', HEAT_PUMP_REGISTERS.electricPower)
  const compressor = number('state.compressor_utilisation_pct', HEAT_PUMP_REGISTERS.compressorUse)
  const plane = {
    device_id: pump.deviceId,
    state: omitUndefined({
      activity: activityOf(reader, pump.address),
      compressor_active: compressor === undefined ? undefined : compressor > 0,
      compressor_utilisation_pct: compressor,
      flow_temperature_c: number('state.flow_temperature_c', HEAT_PUMP_REGISTERS.flow),
      flow_target_c: number('state.flow_target_c', HEAT_PUMP_REGISTERS.flowTarget),
      heating_target_c: number('state.heating_target_c', HEAT_PUMP_REGISTERS.heatingTarget),
      source_inlet_temperature_c: number('state.source_inlet_temperature_c', HEAT_PUMP_REGISTERS.airIntake),
      source_outlet_temperature_c: number('state.source_outlet_temperature_c', HEAT_PUMP_REGISTERS.sourceOutlet),
      circuit_flow_lph: number('state.circuit_flow_lph', HEAT_PUMP_REGISTERS.circuitFlow),
      flow_pressure_bar: number('state.flow_pressure_bar', HEAT_PUMP_REGISTERS.flowPressure),
      source_pressure_bar: number('state.source_pressure_bar', HEAT_PUMP_REGISTERS.sourcePressure),
      energy_integral_kmin: number('state.energy_integral_kmin', HEAT_PUMP_REGISTERS.energyIntegral),
      environment_power_kw: environment,
      electric_power_kw: electric,
      cop_now: copOf(environment, electric),
    }),
    energy: {
      unit: 'kWh',
      environment_yield: {
        heating: omitUndefined({
          today: number('energy.environment_yield.heating.today', HEAT_PUMP_REGISTERS.heatingYieldToday),
          this_month: number('energy.environment_yield.heating.this_month', HEAT_PUMP_REGISTERS.heatingYieldMonth),
          all_time: number('energy.environment_yield.heating.all_time', HEAT_PUMP_REGISTERS.heatingYieldTotal),
        }),
        hot_water: omitUndefined({
          today: number('energy.environment_yield.hot_water.today', HEAT_PUMP_REGISTERS.dhwYieldToday),
          this_month: number('energy.environment_yield.hot_water.this_month', HEAT_PUMP_REGISTERS.dhwYieldMonth),
          all_time: number('energy.environment_yield.hot_water.all_time', HEAT_PUMP_REGISTERS.dhwYieldTotal),
        }),
        cooling: omitUndefined({
          today: number('energy.environment_yield.cooling.today', HEAT_PUMP_REGISTERS.coolingYieldToday),
        }),
        ...omitUndefined({ all_time: number('energy.environment_yield.all_time', HEAT_PUMP_REGISTERS.yieldTotal) }),
      },
      electricity: omitUndefined({
        all_time:
          number('energy.electricity.all_time', HEAT_PUMP_REGISTERS.consumptionTotal) ??
          number('energy.electricity.all_time', HEAT_PUMP_REGISTERS.electricTotal),
      }),
    },
    cop: {
      heating: omitUndefined({
        this_month: number('cop.heating.this_month', HEAT_PUMP_REGISTERS.heatingCopMonth),
        all_time: number('cop.heating.all_time', HEAT_PUMP_REGISTERS.heatingCopTotal),
      }),
      hot_water: omitUndefined({
        this_month: number('cop.hot_water.this_month', HEAT_PUMP_REGISTERS.dhwCopMonth),
        all_time: number('cop.hot_water.all_time', HEAT_PUMP_REGISTERS.dhwCopTotal),
      }),
    },
    diagnostics: omitUndefined({
      operating_hours: number('diagnostics.operating_hours', HEAT_PUMP_REGISTERS.hours),
      heating_hours: number('diagnostics.heating_hours', HEAT_PUMP_REGISTERS.heatingHours),
      cooling_hours: number('diagnostics.cooling_hours', HEAT_PUMP_REGISTERS.coolingHours),
      hot_water_hours: number('diagnostics.hot_water_hours', HEAT_PUMP_REGISTERS.dhwHours),
      compressor_hours: number('diagnostics.compressor_hours', HEAT_PUMP_REGISTERS.compressorHours),
      compressor_starts: number('diagnostics.compressor_starts', HEAT_PUMP_REGISTERS.compressorStarts),
      building_pump_hours: number('diagnostics.building_pump_hours', HEAT_PUMP_REGISTERS.buildingPumpHours),
      four_way_valve_switches: number('diagnostics.four_way_valve_switches', HEAT_PUMP_REGISTERS.valveSwitches),
    }),
  } satisfies JsonObject
  const shown = reader.plane(plane)
  return shown.fields.size === 0 ? reader.plane(null) : shown
}

function activityOf(reader: PlaneFieldReader, address: number): string | undefined {
  const reading = reader.readingOf(
    toStatusReadKey(address, HEAT_PUMP_STATE_BLOCK_NUMBER),
    'state_fast',
    (payload) => payload[STATE_AT],
  )
  const state = reader.take('state.activity', reading)
  if (state === undefined) return undefined
  const word = (HEAT_PUMP_STATE_NAMES as Readonly<Record<number, string>>)[state]
  return word?.replaceAll(' ', '_') ?? `code_${state}`
}

/** The ratio of heat to electricity at this moment; absent while the pump stands still. */
function copOf(environment: number | undefined, electric: number | undefined): number | undefined {
  if (environment === undefined || electric === undefined || electric <= 0) return undefined
  return Number(((environment + electric) / electric).toFixed(2))
}
