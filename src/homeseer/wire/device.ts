/**
 * Device record: one device or feature as in `getstatus`. HomeSeer's member names are used in this codec only;
 * elsewhere a record has our names and units.
 *
 *   {"Name":"HomeSeer Devices","Version":"1.1","TempFormatF":false,"Devices":[{"ref":412,"name":…},…]}
 */
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import {
  decodeWireDate,
  readRecordBoolean,
  readRecordNameOrEmpty,
  readRecordNumber,
  readRecordNumbers,
  readRecordObject,
  readRecordObjects,
  readRecordStatusText,
  readRecordText,
  readRecordTexts,
} from './record-field.ts'
import type { MalformedReplyFault } from './http-exchange.ts'
import { encodeControlUse, decodeControlUse, type ControlUse } from './control-use.ts'

export interface HomeseerDeviceRecord {
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
  /** The children of a root, or the root of a child. */
  readonly associatedRefs: readonly number[]
  readonly deviceType: DeviceType
  readonly statusImage: string
  readonly userNote: string
  readonly userAccess: string
  readonly voiceCommand: string
  readonly misc: number
  readonly interfaceName: string
  /** `undefined` when the reply contained no controls member, which is not the same as no controls. */
  readonly controls: readonly ControlPair[] | undefined
}

interface DeviceType {
  readonly api: number
  readonly type: number
  readonly subType: number
}

/** The bits of `misc` that change what we do. */
export const DEVICE_MISC_FLAGS = {
  statusOnly: 0x10,
  hidden: 0x20,
  voiceConfirm: 0x400,
  isLight: 0x2000,
  canDim: 0x4000,
} as const

/** A received record and the object it was read from, for callers that ask for raw fields. */
export interface ReceivedDevice extends HomeseerDeviceRecord {
  readonly raw: JsonObject
}

export interface StatusReply {
  readonly name: string
  readonly version: string
  readonly fahrenheit: boolean
  readonly devices: readonly ReceivedDevice[]
  /** The number of records without a usable ref, or beyond the limit. */
  readonly skipped: number
}

export const MAX_HOMESEER_DEVICES = 20_000

export function decodeStatusReply(value: Json): Result<StatusReply, MalformedReplyFault> {
  const records = isJsonObject(value) ? readRecordObjects(value, 'Devices', 'devices') : undefined
  if (!isJsonObject(value) || records === undefined)
    return fail({ kind: 'malformed', detail: 'a status reply without a list of devices' })
  const devices = records
    .slice(0, MAX_HOMESEER_DEVICES)
    .map(decodeDevice)
    .filter((device) => device !== undefined)
  return ok({
    name: readRecordText(value, 'Name') ?? '',
    version: readRecordText(value, 'Version') ?? '',
    fahrenheit: readRecordBoolean(value, 'TempFormatF') ?? false,
    devices,
    skipped: records.length - devices.length,
  })
}

function decodeDevice(record: JsonObject): ReceivedDevice | undefined {
  const ref = readRecordNumber(record, 'ref', 'Ref')
  if (ref === undefined || !Number.isSafeInteger(ref) || ref < 0) return undefined
  const type = readRecordObject(record, 'device_type') ?? {}
  return {
    ref,
    name: readRecordNameOrEmpty(record, 'name', 'Name'),
    location: readRecordNameOrEmpty(record, 'location', 'Location'),
    location2: readRecordNameOrEmpty(record, 'location2', 'Location2'),
    value: readRecordNumber(record, 'value', 'Value'),
    status: readRecordStatusText(record, 'status', 'Status'),
    typeString: readRecordNameOrEmpty(record, 'device_type_string', 'Device_Type_String'),
    lastChangeMs: decodeWireDate(readRecordText(record, 'last_change', 'Last_Change')),
    relationship: readRecordNumber(record, 'relationship', 'Relationship') ?? 0,
    hidden: readRecordBoolean(record, 'hide_from_view', 'Hide_From_View') ?? false,
    associatedRefs: readRecordNumbers(record, 'associated_devices', 'Associated_Devices').filter(Number.isSafeInteger),
    deviceType: {
      api: readRecordNumber(type, 'Device_API') ?? 0,
      type: readRecordNumber(type, 'Device_Type') ?? 0,
      subType: readRecordNumber(type, 'Device_SubType') ?? 0,
    },
    statusImage: readRecordText(record, 'status_image') ?? '',
    userNote: readRecordText(record, 'UserNote') ?? '',
    userAccess: readRecordText(record, 'UserAccess') ?? '',
    voiceCommand: readRecordText(record, 'voice_command', 'Voice_Command') ?? '',
    misc: readRecordNumber(record, 'misc', 'Misc') ?? 0,
    interfaceName: readRecordText(record, 'interface_name', 'Interface_Name') ?? '',
    controls: decodeControlPairs(record),
    raw: record,
  }
}

// Control pair: one command of a device, as `getcontrol` and `getstatus&everything=true` describe it.
//
//   one ref    {"ControlPairs":[…],"ref":412,"name":…,"location":…,"location2":…}
//   otherwise  {"Devices":[{"ref":412,…,"ControlPairs":[…]},…]}

export interface ControlRange {
  readonly start: number
  readonly end: number
  /** HomeSeer refuses a value with more decimals than this. */
  readonly decimals: number
  readonly prefix: string
  readonly suffix: string
}

export interface ControlPair {
  readonly ref: number
  readonly index: number
  readonly label: string
  readonly use: ControlUse
  readonly type: number
  /** The start of the range, if there is one; `undefined` if HomeSeer sends no number (as for text boxes). */
  readonly value: number | undefined
  readonly range: ControlRange | undefined
  readonly text: string
  readonly choices: readonly string[]
}

/** More pairs than any real device has; further ones are ignored. */
const MAX_PAIRS = 512
const MAX_DECIMALS = 10

/** Decodes both forms of `getcontrol` as ref → pairs. A device without pairs is absent, or has an empty list. */
export function decodeControlsReply(
  value: Json,
): Result<ReadonlyMap<number, readonly ControlPair[]>, MalformedReplyFault> {
  if (!isJsonObject(value)) return fail({ kind: 'malformed', detail: 'control information is not an object' })
  const records = readRecordObjects(value, 'Devices') ?? [value]
  const controls = new Map<number, readonly ControlPair[]>()
  for (const record of records) {
    const pairs = decodeControlPairs(record)
    const ref = readRecordNumber(record, 'ref', 'Ref') ?? pairs?.[0]?.ref
    if (ref !== undefined && pairs !== undefined) controls.set(ref, pairs)
  }
  if (controls.size === 0 && readRecordObjects(value, 'Devices') === undefined)
    return fail({ kind: 'malformed', detail: 'control information names no device' })
  return ok(controls)
}

/** The pairs inside a device record; `undefined` when the record has no member for controls. */
export function decodeControlPairs(record: JsonObject): readonly ControlPair[] | undefined {
  const pairs = readRecordObjects(record, 'ControlPairs', 'controlPairs', 'control_pairs')
  const ref = readRecordNumber(record, 'ref', 'Ref')
  return pairs?.slice(0, MAX_PAIRS).map((pair, index) => decodePair(pair, { ref, index }))
}

function decodePair(
  pair: JsonObject,
  place: { readonly ref: number | undefined; readonly index: number },
): ControlPair {
  return {
    ref: readRecordNumber(pair, 'Ref', 'ref') ?? place.ref ?? 0,
    index: readRecordNumber(pair, 'CCIndex') ?? place.index,
    label: readRecordText(pair, 'Label', 'label') ?? '',
    use: decodeControlUse(readRecordNumber(pair, 'ControlUse')),
    type: readRecordNumber(pair, 'ControlType') ?? 1,
    value: readRecordNumber(pair, 'ControlValue', 'value'),
    range: decodeRange(readRecordObject(pair, 'Range')),
    text: readRecordText(pair, 'ControlString') ?? '',
    choices: readRecordTexts(pair, 'ControlStringList'),
  }
}

function decodeRange(range: JsonObject | undefined): ControlRange | undefined {
  if (range === undefined) return undefined
  const start = readRecordNumber(range, 'RangeStart')
  const end = readRecordNumber(range, 'RangeEnd')
  if (start === undefined || end === undefined) return undefined
  const decimals = Math.trunc(readRecordNumber(range, 'RangeStatusDecimals') ?? 0)
  return {
    start: Math.min(start, end),
    end: Math.max(start, end),
    decimals: Math.min(Math.max(decimals, 0), MAX_DECIMALS),
    prefix: readRecordText(range, 'RangeStatusPrefix') ?? '',
    suffix: readRecordText(range, 'RangeStatusSuffix') ?? '',
  }
}

export function encodeControlPair(pair: ControlPair): JsonObject {
  const row = Math.floor(pair.index / 3) + 1
  const column = (pair.index % 3) + 1
  return {
    Do_Update: true,
    SingleRangeEntry: true,
    ControlButtonType: 0,
    ControlButtonCustom: '',
    CCIndex: pair.index,
    Range: pair.range === undefined ? null : encodeRange(pair.range),
    Ref: pair.ref,
    Label: pair.label,
    ControlType: pair.type,
    ControlLocation: { Row: row, Column: column, ColumnSpan: 0 },
    ControlLoc_Row: row,
    ControlLoc_Column: column,
    ControlLoc_ColumnSpan: 0,
    ControlUse: encodeControlUse(pair.use),
    ControlValue: pair.value ?? 0,
    ControlString: pair.text,
    ControlStringList: pair.choices.length === 0 ? null : pair.choices,
    ControlStringSelected: null,
    ControlFlag: false,
  }
}

function encodeRange(range: ControlRange): JsonObject {
  return {
    RangeStart: range.start,
    RangeEnd: range.end,
    RangeStatusDecimals: range.decimals,
    RangeStatusValueOffset: 0,
    RangeStatusDivisor: 0,
    ScaleReplace: '',
    HasScale: false,
    RangeStatusPrefix: range.prefix,
    RangeStatusSuffix: range.suffix,
  }
}
