/**
 * Heat source schemas: boiler, heat pump, solar heating and cylinders as clients see them, with their consumption and
 * yield.
 */
import { z } from 'zod'
import {
  optionalCodes as codes,
  optionalFlag as flag,
  optionalNumber as number,
  optionalText as text,
} from './optional-field-schemas.ts'

/** A meter without a value is null. The older gateway shows zero there, which looks like a cold day. */
const figure = z.number().nullable().describe('kWh; null while unknown.')
const figureMeta = z.object({
  freshness_state: z.enum(['fresh', 'stale', 'unknown']),
  provenance: z.string(),
  last_observed_utc: text,
  stale: z.boolean(),
})
const series = z.object({
  unit: z.literal('kWh'),
  by_period: z
    .object({ today: figure, this_month: figure, last_month: figure, this_year: figure, all_time: figure })
    .describe('The figures by name; the lists below have the same ones in the order of the contract.'),
  today: figure,
  yearly: z.array(figure).describe('This year, all time.'),
  monthly: z.array(figure).describe('Last month, this month.'),
  // Each figure has its own age, because they come in different telegrams.
  today_meta: figureMeta,
  yearly_meta: z.array(figureMeta),
  monthly_meta: z.array(figureMeta),
})
/** `total` is present if a manufacturer's definition counts hot water and heating in one figure, in kWh. */
export const energyMeterSchema = z.object({
  dhw: series.exactOptional(),
  climate: series.exactOptional(),
  total: z.object({ today: number, all_time: number }).exactOptional(),
})

/** In the order of the contract. The hot water values are the regulator's, not the boiler's. */
export const boilerStatusSchema = z.object({
  state: z.object({
    flow_temperature_c: number,
    return_temperature_c: number,
    central_heating_pump_active: flag,
    water_pressure_bar: number,
    external_pump_active: flag,
    circulation_pump_active: flag,
    gas_valve_active: flag,
    flame_active: flag,
    diverter_valve_position_pct: number,
    fan_speed_rpm: number,
    target_fan_speed_rpm: number,
    // The contract's name; the value is a current in microamperes.
    ionisation_voltage_ua: number,
    dhw_water_flow_lpm: number,
    dhw_demand_active: flag,
    heating_switch_active: flag,
    storage_load_pump_pct: number,
    modulation_pct: number,
    primary_circuit_flow_lpm: number,
    flow_temp_desired_c: number,
    dhw_temp_desired_c: number,
    state_number: number,
    dhw_temperature_c: number,
    dhw_target_temperature_c: number,
  }),
  config: z.object({
    dhw_operating_mode: text,
    flowset_hc_max_c: number,
    flowset_hwc_max_c: number,
    partload_hc_kw: number,
    partload_hwc_kw: number,
    hours_till_service: number,
  }),
  diagnostics: z.object({
    heating_status_raw: number,
    dhw_status_raw: number,
    central_heating_hours: number,
    dhw_hours: number,
    central_heating_starts: number,
    dhw_starts: number,
    pump_hours: number,
    fan_hours: number,
    burner_hours: number,
    burner_starts: number,
    deactivations_ifc: number,
    deactivations_templimiter: number,
    current_errors: codes.describe('Numbers of the errors that the boiler reports now; empty when there is none.'),
    current_service_messages: codes.describe('Likewise, of what it wants serviced.'),
  }),
})

export const solarSchema = z.object({
  collector_temperature_c: number,
  return_temperature_c: number,
  pump_active: flag,
  current_yield: number,
  pump_hours: number,
  solar_enabled: flag,
  function_mode: flag,
})

export const cylinderSchema = z.object({
  index: z.int(),
  temperature_c: number,
  max_setpoint_c: number,
  charge_hysteresis_c: number,
  charge_offset_c: number,
})

const period = z.object({ today: number, this_month: number, all_time: number })
export const heatPumpSchema = z.object({
  device_id: text,
  state: z.object({
    activity: text.describe('ready, heating, hot_water, cooling or error; of other makers in their own words.'),
    compressor_active: flag,
    compressor_speed_rps: number,
    return_temperature_c: number,
    defrost_active: flag,
    backup_heater: text,
    compressor_utilisation_pct: number,
    flow_temperature_c: number,
    flow_target_c: number,
    heating_target_c: number,
    source_inlet_temperature_c: number.describe('The air that is taken in.'),
    source_outlet_temperature_c: number,
    circuit_flow_lph: number,
    flow_pressure_bar: number,
    source_pressure_bar: number,
    energy_integral_kmin: number,
    environment_power_kw: number,
    electric_power_kw: number,
    cop_now: number.describe('Heat per electricity at this moment.'),
  }),
  energy: z.object({
    unit: z.literal('kWh'),
    environment_yield: z.object({ heating: period, hot_water: period, cooling: period, all_time: number }),
    electricity: z.object({ all_time: number }),
  }),
  cop: z.object({ heating: period, hot_water: period }),
  diagnostics: z.object({
    operating_hours: number,
    heating_hours: number,
    cooling_hours: number,
    hot_water_hours: number,
    compressor_hours: number,
    compressor_starts: number,
    building_pump_hours: number,
    four_way_valve_switches: number,
    backup_heater_hours: number,
  }),
})
