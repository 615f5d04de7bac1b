/**
 * Device answer: devices as HS4 writes them, after public captures of 2020 and 2022 (marthoc/homeseer issues 17, 72),
 * and not after what our own reader expects.
 *
 *   {"Name":"HomeSeer Devices","Version":"1.1","TempFormatF":true,"Devices":[{…,"value":100.0,…,"device_type_values":null}]}
 *
 * Values are doubles and always have a decimal; descriptions of types are filled in; there is no `device_image`.
 */
import type { Json, JsonObject } from '../../core/json.ts'
import { encodeControlPair } from '../../homeseer/wire/device.ts'
import { encodeWireDate } from '../../homeseer/wire/record-field.ts'
import type { HomeseerDeviceRecord } from '../../homeseer/wire/device.ts'

export interface StatusEncodingOptions {
  /** Leaves out members that are not set: empty strings, nulls and false. */
  readonly compress: boolean
  readonly zone: string
  /** With `everything=true` HomeSeer adds its events, unless they were excluded. */
  readonly events?: readonly Json[]
}

export function encodeSimulatedStatus(records: readonly HomeseerDeviceRecord[], form: StatusEncodingOptions): string {
  const devices = records.map((record) => encodeSimulatedDevice(record, form)).join(',')
  const events = form.events === undefined ? '' : `,"Events":${JSON.stringify(form.events)}`
  return `{"Name":"HomeSeer Devices","Version":"1.1","TempFormatF":false,"Devices":[${devices}]${events}}`
}

export function encodeSimulatedDevice(
  device: HomeseerDeviceRecord,
  { compress, zone }: Omit<StatusEncodingOptions, 'events'>,
): string {
  const { ref, name, location, location2, value = 0, typeString } = device
  const shape = (members: JsonObject) => JSON.stringify(compress ? withoutUnset(members) : members)
  const first = shape({ ref, name, location, location2 })
  const rest = shape({
    status: device.status,
    device_type_string: typeString,
    last_change: encodeWireDate(device.lastChangeMs, zone),
    relationship: device.relationship,
    hide_from_view: device.hidden,
    associated_devices: device.associatedRefs,
    device_type: typeOf(device),
    device_type_values: null,
    UserNote: device.userNote,
    UserAccess: device.userAccess,
    status_image: device.statusImage,
    voice_command: device.voiceCommand,
    misc: device.misc,
    interface_name: device.interfaceName,
    ...(device.controls === undefined ? {} : { ControlPairs: device.controls.map(encodeControlPair) }),
  })
  return `${first.slice(0, -1)},"value":${doubleText(value)},${rest.slice(1)}`
}

/** The thermostat API is the one that HS4 still describes by its own names. */
function typeOf({ deviceType: { api, type, subType }, typeString }: HomeseerDeviceRecord): JsonObject {
  return {
    Device_API: api,
    Device_API_Description: API_NAMES[api] ?? `Undefined API=${api}`,
    Device_Type: type,
    Device_Type_Description: api >= 512 ? `Undefined API ${api}, Type ${type}, SubType ${subType}` : '',
    Device_SubType: subType,
    Device_SubType_Description: typeString,
  }
}

const API_NAMES: Readonly<Record<number, string>> = { 4: 'Plug-In API', 8: 'Security API', 16: 'Thermostat API' }

function doubleText(value: number): string {
  return Number.isInteger(value) ? `${value}.0` : String(value)
}

function withoutUnset(members: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== '' && value !== null && value !== false),
  )
}
