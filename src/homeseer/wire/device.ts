/**
 * Device record: one device or feature as `getstatus` shows it. HomeSeer's member names are kept in the codec only;
 * inside the program a record has our names and units.
 *
 *   {"Name":"HomeSeer Devices","Version":"1.1","TempFormatF":false,"Devices":[{"ref":412,"name":…},…]}
 *
 * Pure.
 */
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { decodePairs, type ControlPair } from './control-pair.ts'
import {
  decodeWireDate,
  booleanField,
  nameField,
  numberField,
  numbersField,
  objectField,
  objectsField,
  statusField,
  textField,
} from './field.ts'
import type { Malformed } from './reply.ts'

export interface DeviceRecord {
  readonly ref: number
  readonly name: string
  /** The room; its label is configurable in HomeSeer. */
  readonly location: string
  /** The floor or area. */
  readonly location2: string
  readonly value: number | undefined
  readonly status: string
  readonly typeString: string
  readonly lastChangeMs: number | undefined
  /** 0 not set, 2 root, 3 standalone (HS3), 4 child or feature. */
  readonly relationship: number
  readonly hidden: boolean
  /** A root's children; a child's root. */
  readonly associatedRefs: readonly number[]
  readonly deviceType: DeviceType
  readonly statusImage: string
  readonly userNote: string
  readonly userAccess: string
  readonly voiceCommand: string
  readonly misc: number
  readonly interfaceName: string
  /** `undefined` when the reply did not speak of controls, which is not the same as having none. */
  readonly controls: readonly ControlPair[] | undefined
}

interface DeviceType {
  readonly api: number
  readonly type: number
  readonly subType: number
}

/** The bits of `misc` that change what we do. */
export const MISC = { statusOnly: 0x10, hidden: 0x20, voiceConfirm: 0x400, isLight: 0x2000, canDim: 0x4000 } as const

/** A received record and the object it was read from, for callers that ask for raw fields. */
export interface ReceivedDevice extends DeviceRecord {
  readonly raw: JsonObject
}

export interface StatusReply {
  readonly name: string
  readonly version: string
  readonly fahrenheit: boolean
  readonly devices: readonly ReceivedDevice[]
  /** Records without a usable ref, or past the limit. */
  readonly skipped: number
}

export const MAX_DEVICES = 20_000

export function decodeStatus(value: Json): Result<StatusReply, Malformed> {
  const records = isJsonObject(value) ? objectsField(value, 'Devices', 'devices') : undefined
  if (!isJsonObject(value) || records === undefined)
    return fail({ kind: 'malformed', detail: 'a status reply without a list of devices' })
  const devices = records
    .slice(0, MAX_DEVICES)
    .map(decodeDevice)
    .filter((device) => device !== undefined)
  return ok({
    name: textField(value, 'Name') ?? '',
    version: textField(value, 'Version') ?? '',
    fahrenheit: booleanField(value, 'TempFormatF') ?? false,
    devices,
    skipped: records.length - devices.length,
  })
}

function decodeDevice(record: JsonObject): ReceivedDevice | undefined {
  const ref = numberField(record, 'ref', 'Ref')
  if (ref === undefined || !Number.isSafeInteger(ref) || ref < 0) return undefined
  const type = objectField(record, 'device_type') ?? {}
  return {
    ref,
    name: nameField(record, 'name', 'Name'),
    location: nameField(record, 'location', 'Location'),
    location2: nameField(record, 'location2', 'Location2'),
    value: numberField(record, 'value', 'Value'),
    status: statusField(record, 'status', 'Status'),
    typeString: nameField(record, 'device_type_string', 'Device_Type_String'),
    lastChangeMs: decodeWireDate(textField(record, 'last_change', 'Last_Change')),
    relationship: numberField(record, 'relationship', 'Relationship') ?? 0,
    hidden: booleanField(record, 'hide_from_view', 'Hide_From_View') ?? false,
    associatedRefs: numbersField(record, 'associated_devices', 'Associated_Devices').filter(Number.isSafeInteger),
    deviceType: {
      api: numberField(type, 'Device_API') ?? 0,
      type: numberField(type, 'Device_Type') ?? 0,
      subType: numberField(type, 'Device_SubType') ?? 0,
    },
    statusImage: textField(record, 'status_image') ?? '',
    userNote: textField(record, 'UserNote') ?? '',
    userAccess: textField(record, 'UserAccess') ?? '',
    voiceCommand: textField(record, 'voice_command', 'Voice_Command') ?? '',
    misc: numberField(record, 'misc', 'Misc') ?? 0,
    interfaceName: textField(record, 'interface_name', 'Interface_Name') ?? '',
    controls: decodePairs(record),
    raw: record,
  }
}
