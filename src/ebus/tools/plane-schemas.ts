/**
 * Plane schemas: the semantic planes as clients see them. Temperatures in °C, pressures in bar, shares in percent.
 * Unknown values are left out.
 */
import { z } from 'zod'
import { FM5_MODES } from '../semantic/fm5-module.ts'
import type { SemanticPlaneName } from '../semantic/planes.ts'
import { TIMER_PROGRAM_CHANNELS, WEEKDAYS } from '../semantic/timer-program.ts'
import { optionalFlag as flag, optionalNumber as number, optionalText as text } from './optional-field-schemas.ts'
import {
  boilerStatusSchema,
  cylinderSchema,
  heatPumpSchema,
  energyMeterSchema,
  solarSchema,
} from './heat-source-schemas.ts'
import { SETPOINT_REASONS } from '../semantic/current-setpoint.ts'

/** Demand and valve position are in the contract; no register with them is known, so they are always absent. */
const zone = z.object({
  id: z.string(),
  name: z.string(),
  state: z.object({
    current_temp_c: number,
    current_humidity_pct: number,
    // What the zone does now; derived, since no single register contains it.
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

/** `boost` is a single charge on request (special function 6), for which the contract has no name. */
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
  // The hydraulic scheme and wiring that the installer configured; `vr71_circuit_start_index` is no longer part of it
  // (spec 1).
  properties: z.object({ system_scheme: number, module_configuration_vr71: number }),
})

/** `role` is always present; the device only if there is evidence (spec 1). */
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

/** `inventory` is a disconnected module whose name is still in the slot. */
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
  // 0 to 10, where 4 is a good reception.
  reception_strength: number,
  zone_assignment: z.int().exactOptional(),
  room_temperature_c: number,
  room_humidity_pct: number,
})

export const timerSlotOutputSchema = z.object({
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
  hc: z.enum(TIMER_PROGRAM_CHANNELS),
  config: z
    .object({
      // The limits of the program: slots a day, minutes, °C. Resolution and least duration are only advice for B555.
      max_slots: z.int(),
      time_resolution: z.int(),
      min_duration: z.int(),
      has_temperature: z.boolean(),
      temp_slots: z.int(),
      min_temp_c: number,
      max_temp_c: number,
    })
    .exactOptional(),
  // Per weekday, from Monday; known before the slots themselves were read.
  slots_used: z.array(z.int()).exactOptional(),
  days: z.array(z.object({ weekday: z.enum(WEEKDAYS), slots: z.array(timerSlotOutputSchema) })).exactOptional(),
})

/** All members but `info_supported` depend on the adapter's firmware. */
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

/** Null means not read yet, or no such device; an empty list means that there are none. */
export const PLANE_SCHEMAS: Readonly<Record<SemanticPlaneName, z.ZodType>> = {
  runtime_status: z.object({ adapter_status: part, daemon_status: part }),
  zones: z.array(zone).nullable(),
  dhw: dhw.nullable(),
  energy_totals: z
    .object({
      gas: energyMeterSchema.exactOptional(),
      electric: energyMeterSchema.exactOptional(),
      solar: energyMeterSchema.exactOptional(),
    })
    .nullable(),
  boiler_status: boilerStatusSchema.nullable(),
  system: system.nullable(),
  circuits: z.array(circuit).nullable(),
  radio_devices: z.array(radioDevice).nullable(),
  fm5_mode: z.enum(FM5_MODES),
  solar: solarSchema.nullable(),
  cylinders: z.array(cylinderSchema).nullable(),
  schedules: z.object({ programs: z.array(program) }).nullable(),
  adapter_info: adapterInfo.nullable(),
  heat_pump: heatPumpSchema.nullable(),
}
