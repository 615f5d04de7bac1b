/**
 * Plane schemas: the semantic planes as clients see them. Temperatures in °C, pressures in bar, shares in percent. What
 * is not known is left out.
 */
import { z } from 'zod'
import { FM5_MODES } from '../semantic/fm5-module.ts'
import type { SemanticPlaneName } from '../semantic/planes.ts'
import { PROGRAM_CHANNELS, WEEKDAYS } from '../semantic/schedule.ts'
import { SETPOINT_REASONS } from '../semantic/current-setpoint.ts'

/** Absent, never null and never zero: a sensor that is not there has not measured nothing. */
const number = z.number().exactOptional()
const flag = z.boolean().exactOptional()
const codes = z.array(z.int()).exactOptional()
const text = z.string().exactOptional()

/** Demand and valve position are in the contract; no register that gives them is known, so they never come. */
const zone = z.object({
  id: z.string(),
  name: z.string(),
  state: z.object({
    current_temp_c: number,
    current_humidity_pct: number,
    // What the zone does now; derived, since no register says it in one word.
    hvac_action: z.enum(['idle', 'heating', 'cooling']).exactOptional(),
    special_function: text,
    wanted_now_c: number.describe('How warm it shall be now, whatever says so.'),
    wanted_because: z.enum(SETPOINT_REASONS).exactOptional().describe('What says so.'),
    wanted_slot: text.describe('The slot of the weekly program that runs, as 06:00-22:00.'),
    heating_demand_pct: number,
    valve_position_pct: number,
  }),
  config: z.object({
    operating_mode: z.enum(['off', 'auto', 'heat', 'cool']).exactOptional(),
    preset: z.enum(['schedule', 'manual', 'quickveto', 'away']).exactOptional(),
    target_temp_c: number.describe('The setpoint by day. What counts now is state.wanted_now_c.'),
    day_setpoint_c: number,
    night_setpoint_c: number,
    allowed_modes: z.array(z.string()).exactOptional(),
    circuit_type: text,
    associated_circuit: z.int().exactOptional(),
    room_temperature_zone_mapping: z.int().exactOptional(),
    quick_veto: flag,
    quick_veto_setpoint_c: number,
    quick_veto_duration_h: number,
    quick_veto_expiry: text,
    holiday_start_date: text,
    holiday_end_date: text,
    holiday_setpoint_c: number,
    holiday_start_time: text,
    holiday_end_time: text,
  }),
})

/** `boost` is one charge on request (special function 6), for which the contract has no word. */
const dhw = z.object({
  state: z.object({ current_temp_c: number, special_function: text, heating_demand_pct: number }),
  config: z.object({
    operating_mode: z.enum(['off', 'auto', 'heat']).exactOptional(),
    preset: z.enum(['schedule', 'manual', 'boost']).exactOptional(),
    target_temp_c: number,
    holiday_start_date: text,
    holiday_end_date: text,
  }),
})

/** A meter nobody has told is null. The older gateway shows zero there, which looks like a cold day. */
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
  // The same figures say how old they are, one by one: they come in different telegrams.
  today_meta: figureMeta,
  yearly_meta: z.array(figureMeta),
  monthly_meta: z.array(figureMeta),
})
/** `total`: where a maker's definition counts both in one, in kWh. */
const meter = z.object({
  dhw: series.exactOptional(),
  climate: series.exactOptional(),
  total: z.object({ today: number, all_time: number }).exactOptional(),
})

/** In the order of the contract. Hot water in here is what the regulator says about it, not the boiler. */
const boilerStatus = z.object({
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
    // The contract's name; it is a current, in microamperes.
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

const system = z.object({
  state: z.object({
    system_off: flag,
    system_water_pressure: number,
    system_flow_temperature: number,
    outdoor_temperature: number,
    outdoor_temperature_avg24h: number,
    maintenance_due: flag,
    hwc_cylinder_temperature_top: number,
    hwc_cylinder_temperature_bottom: number,
  }),
  config: z.object({
    adaptive_heating_curve: flag,
    alternative_point: number,
    heating_circuit_bivalence_point: number,
    dhw_bivalence_point: number,
    hc_emergency_temperature: number,
    hwc_max_flow_temp_desired: number,
    max_room_humidity: number,
    maintenance_date: text,
    installer_name: text,
  }),
  // Hydraulic scheme and wiring as the installer set them; `vr71_circuit_start_index` is no longer part of it (spec 1).
  properties: z.object({ system_scheme: number, module_configuration_vr71: number }),
})

/** `role` is always there; who it is only where there is evidence (spec 1). */
const circuit = z.object({
  index: z.int(),
  name: text,
  circuit_type: z.string(),
  has_mixer: z.boolean(),
  state: z.object({
    pump_active: flag,
    mixer_position_pct: number,
    flow_temperature_c: number,
    flow_setpoint_c: number,
    calc_flow_temp_c: number,
    circuit_state: text,
    humidity: number,
    dew_point: number,
    pump_hours: number,
    pump_starts: number,
  }),
  config: z.object({
    heating_curve: number,
    flow_temp_max_c: number,
    flow_temp_min_c: number,
    summer_limit_c: number,
    frost_prot_c: number,
    room_temp_control: text,
    cooling_enabled: flag,
  }),
  managing_device: z.object({
    role: z.enum(['REGULATOR', 'FUNCTION_MODULE', 'UNKNOWN']),
    device_id: text,
    address: z.int().exactOptional(),
  }),
})

/** `inventory` is a module that is not connected and has left its name in the slot. */
const radioDevice = z.object({
  group: z.int(),
  instance: z.int(),
  slot_mode: z.enum(['active', 'inventory']),
  device_connected: flag,
  device_class_address: z.int().exactOptional(),
  device_model: text,
  firmware_version: text,
  hardware_identifier: text,
  remote_control_address: z.int().exactOptional(),
  device_paired: flag,
  // 0 to 10; 4 is enough.
  reception_strength: number,
  zone_assignment: z.int().exactOptional(),
  room_temperature_c: number,
  room_humidity_pct: number,
})

const solar = z.object({
  collector_temperature_c: number,
  return_temperature_c: number,
  pump_active: flag,
  current_yield: number,
  pump_hours: number,
  solar_enabled: flag,
  function_mode: flag,
})

const cylinder = z.object({
  index: z.int(),
  temperature_c: number,
  max_setpoint_c: number,
  charge_hysteresis_c: number,
  charge_offset_c: number,
})

export const slotOutputSchema = z.object({
  start_hour: z.int(),
  start_minute: z.int(),
  end_hour: z.int(),
  end_minute: z.int(),
  temperature_c: number,
  // Tenths of a degree as on the wire, for callers that write them back unchanged.
  temperature_raw: z.int().exactOptional(),
})

const program = z.object({
  zone: z.int().describe('0 to 2; 255 for hot water and what goes with it.'),
  hc: z.enum(PROGRAM_CHANNELS),
  config: z
    .object({
      // What the program can hold: slots a day, minutes, °C. Resolution and least duration are advice to B555.
      max_slots: z.int(),
      time_resolution: z.int(),
      min_duration: z.int(),
      has_temperature: z.boolean(),
      temp_slots: z.int(),
      min_temp_c: number,
      max_temp_c: number,
    })
    .exactOptional(),
  // Per weekday, from Monday; known before the slots themselves have been read.
  slots_used: z.array(z.int()).exactOptional(),
  days: z.array(z.object({ weekday: z.enum(WEEKDAYS), slots: z.array(slotOutputSchema) })).exactOptional(),
})

/** Everything but `info_supported` depends on how much the adapter's firmware tells. */
const adapterInfo = z.object({
  firmware_version: text,
  firmware_checksum: text,
  bootloader_version: text,
  bootloader_checksum: text,
  hardware_id: text,
  hardware_config: text,
  features: z.int().exactOptional(),
  jumpers: z.int().exactOptional(),
  jumper_flags: z.array(z.string()).exactOptional(),
  is_wifi: flag,
  is_ethernet: flag,
  temperature_c: number,
  supply_voltage_mv: number,
  // Tenths of a volt.
  bus_voltage_max_dv: number,
  bus_voltage_min_dv: number,
  reset_cause: text,
  reset_cause_code: z.int().exactOptional(),
  restart_count: z.int().exactOptional(),
  wifi_rssi_dbm: number,
  last_identity_query: text,
  last_telemetry_query: text,
  version_response_len: z.int().exactOptional(),
  info_supported: z.boolean(),
})

const part = z.object({
  status: z.string(),
  firmware_version: z.string().nullable(),
  updates_available: z.boolean().nullable().describe('null: nobody looks for updates.'),
  initiator_address: text,
})

const period = z.object({ today: number, this_month: number, all_time: number })
const heatPump = z.object({
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

/** Null means not read yet, or nothing there to read; an empty list means looked, and found none. */
export const PLANE_SCHEMAS: Readonly<Record<SemanticPlaneName, z.ZodType>> = {
  runtime_status: z.object({ adapter_status: part, daemon_status: part }),
  zones: z.array(zone).nullable(),
  dhw: dhw.nullable(),
  energy_totals: z
    .object({ gas: meter.exactOptional(), electric: meter.exactOptional(), solar: meter.exactOptional() })
    .nullable(),
  boiler_status: boilerStatus.nullable(),
  system: system.nullable(),
  circuits: z.array(circuit).nullable(),
  radio_devices: z.array(radioDevice).nullable(),
  fm5_mode: z.enum(FM5_MODES),
  solar: solar.nullable(),
  cylinders: z.array(cylinder).nullable(),
  schedules: z.object({ programs: z.array(program) }).nullable(),
  adapter_info: adapterInfo.nullable(),
  heat_pump: heatPump.nullable(),
}
