/**
 * Radio devices plane: thermostats, base stations and modules that are plugged into the regulator or paired by radio.
 */
import { omitUndefined } from '../../core/json.ts'
import type { JsonObject } from '../../core/json.ts'
import { PlaneFieldReader } from './plane-reader.ts'
import type { SemanticPlane, PlaneSources } from './plane-reader.ts'
import {
  MAX_INSTANCE_COUNT,
  FUNCTION_MODULE_REGISTER_GROUP,
  REMOTE_REGISTER_GROUP_NUMBERS,
  requireRemoteDeviceRegisters,
} from './regulator-register-map.ts'

/** Class addresses and their meanings. */
const MODELS: ReadonlyMap<number, string> = new Map([
  [0x15, 'VRC720'],
  [0x26, 'VR71'],
  [0x35, 'VR92'],
])

/** Null until the first slots of every group were read, because an empty list means that there is nothing. */
export function buildRadioDevicesPlane(parts: PlaneSources): SemanticPlane {
  const reader = new PlaneFieldReader(parts)
  if (parts.topology.regulator === undefined || !parts.topology.slotsKnown) return reader.plane(null)
  const devices = REMOTE_REGISTER_GROUP_NUMBERS.flatMap((group) =>
    Array.from({ length: MAX_INSTANCE_COUNT }, (_, instance) => slot(reader, group, instance)).filter(
      (device) => device !== undefined,
    ),
  )
  return reader.plane(devices)
}

/** Connected ones, and disconnected modules whose name is still stored. */
function slot(reader: PlaneFieldReader, group: number, instance: number): JsonObject | undefined {
  const connected = reader.topology.slotConnected(group, instance)
  if (connected === undefined) return undefined
  const registers = requireRemoteDeviceRegisters(group)
  const path = (field: string): string => `${group}.${instance}.${field}`
  const evidence =
    reader.reading(registers.firmware, instance) !== undefined || (reader.peek(registers.hardware, instance) ?? 0) !== 0
  if (!connected && (group !== FUNCTION_MODULE_REGISTER_GROUP || !evidence)) return undefined
  const classAddress = reader.number(path('device_class_address'), registers.classAddress, instance)
  const hardware = reader.number(path('hardware_identifier'), registers.hardware, instance)
  return {
    group,
    instance,
    slot_mode: connected ? 'active' : 'inventory',
    ...omitUndefined({
      device_connected: reader.flag(path('device_connected'), registers.connected, instance),
      device_class_address: classAddress,
      device_model: classAddress === undefined ? undefined : MODELS.get(classAddress),
      firmware_version: reader.text(path('firmware_version'), registers.firmware, instance),
      hardware_identifier: hardware === undefined ? undefined : hardware.toString(16).padStart(4, '0'),
      remote_control_address: reader.number(path('remote_control_address'), registers.remoteAddress, instance),
      device_paired: reader.flag(path('device_paired'), registers.paired, instance),
      reception_strength: reader.number(path('reception_strength'), registers.reception, instance),
      zone_assignment: reader.number(path('zone_assignment'), registers.zone, instance),
      room_temperature_c: reader.number(path('room_temperature_c'), registers.roomTemperature, instance),
      room_humidity_pct: reader.number(path('room_humidity_pct'), registers.humidity, instance),
    }),
  }
}
