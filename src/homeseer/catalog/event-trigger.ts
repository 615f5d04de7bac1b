/**
 * Event trigger: what sets an event off according to HomeSeer's file, and which devices can.
 *
 * The numbers for how a value is compared are not documented. So a trigger that names a device is assumed to react to
 * any change of that device; one that names no device and is not a clock, to any change at all.
 */
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import {
  readRecordBoolean,
  readRecordField,
  readRecordNumber,
  readRecordObject,
  readRecordObjects,
  readRecordText,
} from '../wire/record-field.ts'
import { listNumberedMembers, readDeviceRefField } from './event-file-keys.ts'
import { collectPossibleIds, listUnknownMembers } from './event-file-unknown-members.ts'

export interface EventTrigger {
  readonly index: number
  readonly type: string
  readonly deviceRef: number | undefined
  readonly triggerSubType: number | undefined
  readonly operationSelected: boolean | undefined
  readonly anyDevice: boolean | undefined
  readonly anyValue: boolean | undefined
  readonly condition: boolean | undefined
  readonly valueStart: number | undefined
  readonly valueEnd: number | undefined
}

/** Which changes can set an event off: of any device, or of these. */
export interface TriggerDevices {
  readonly anyDevice: boolean
  readonly refs: readonly number[]
}

/** HomeSeer's value for a range without an end. */
const UNSET_END = -99_999.987_65

const KNOWN: ReadonlySet<string> = new Set([
  'ev_trig_dvRef',
  'TriggerSubType',
  'mvarOperationSelected',
  'AnyDevice',
  'AnyValue',
  'Condition',
  'mvarValue_or_Start',
  'ValEnd_Spec',
])

/** Triggers of a clock or by hand, which no device sets off. */
const CLOCK = /EvTrig_(TIME|DATE|DAY|DAYNIGHT|SUNRISE|SUNSET|RECURRING|MANUAL)\b/i

export function decodeTriggerGroups(event: JsonObject): readonly (readonly EventTrigger[])[] {
  return groupsIn(event).map(([, group]) => (readRecordObjects(group, '$values') ?? []).map(decodeTrigger))
}

/** `unknown` are members of the record that are not known here and may contain further triggers. */
export function readTriggerDevices(event: JsonObject, unknown: readonly string[]): TriggerDevices {
  const { anyDevice, refs } = readKnownTriggerDevices(event)
  return {
    anyDevice: anyDevice || unknown.some((name) => /trig/i.test(name)),
    refs: [...new Set([...refs, ...collectIds(event, unknown)])].sort((left, right) => left - right),
  }
}

function readKnownTriggerDevices(event: JsonObject): TriggerDevices {
  const triggers = readRecordField(event, 'Triggers')
  // An event without triggers is run by hand; triggers that cannot be found may be of any kind.
  if (triggers === undefined || triggers === null) return { anyDevice: false, refs: [] }
  if (!isJsonObject(triggers)) return { anyDevice: true, refs: [] }
  const groups = groupsIn(event)
  const members = Object.keys(readRecordObject(triggers, 'TrigGroups') ?? {}).filter((name) => name !== '$type')
  const isFound =
    listUnknownMembers(triggers, new Set(['TrigGroups'])).length === 0 &&
    groups.length === members.length &&
    groups.every(([, group]) => isGroup(group))
  const reaches = groups.flatMap(([, group]) => (readRecordObjects(group, '$values') ?? []).map(reachOf))
  return {
    anyDevice: !isFound || reaches.some(({ anyDevice }) => anyDevice),
    refs: reaches.flatMap(({ refs }) => refs),
  }
}

function groupsIn(event: JsonObject): readonly (readonly [string, JsonObject])[] {
  return listNumberedMembers(readRecordObject(readRecordObject(event, 'Triggers') ?? {}, 'TrigGroups'))
}

/** Whether all of its triggers are objects, and it contains nothing else. */
function isGroup(group: JsonObject): boolean {
  const values = readRecordField(group, '$values')
  return (
    Array.isArray(values) &&
    (values as readonly Json[]).every(isJsonObject) &&
    listUnknownMembers(group, new Set(['$values'])).length === 0
  )
}

function reachOf(trigger: JsonObject): TriggerDevices {
  const ref = readDeviceRefField(trigger, 'ev_trig_dvRef')
  const more = listUnknownMembers(trigger, KNOWN)
  if (isAnyDevice(readRecordField(trigger, 'AnyDevice'))) return { anyDevice: true, refs: [] }
  if (ref === undefined) {
    if (!CLOCK.test(readRecordText(trigger, '$type') ?? '')) return { anyDevice: true, refs: [] }
    // Hours and days are numbers, too, so only those members of a clock count whose names refer to devices.
    return {
      anyDevice: false,
      refs: collectIds(
        trigger,
        more.filter((name) => /dev|dv|ref|feat/i.test(name)),
      ),
    }
  }
  // Its other members may name further devices.
  return { anyDevice: false, refs: [ref, ...collectIds(trigger, more)] }
}

/** Accepts every way in which HomeSeer writes yes. */
function isAnyDevice(value: Json | undefined): boolean {
  return value !== undefined && value !== null && !/^(false|no|0|)$/i.test(JSON.stringify(value).replaceAll('"', ''))
}

function collectIds(record: JsonObject, members: readonly string[]): readonly number[] {
  return members.flatMap((name) => [...collectPossibleIds(record[name])])
}

function decodeTrigger(trigger: JsonObject, index: number): EventTrigger {
  return {
    index,
    type: readRecordText(trigger, '$type') ?? '',
    deviceRef: readDeviceRefField(trigger, 'ev_trig_dvRef'),
    triggerSubType: readRecordNumber(trigger, 'TriggerSubType'),
    operationSelected: readRecordBoolean(trigger, 'mvarOperationSelected'),
    anyDevice: readRecordBoolean(trigger, 'AnyDevice'),
    anyValue: readRecordBoolean(trigger, 'AnyValue'),
    condition: readRecordBoolean(trigger, 'Condition'),
    valueStart: setNumber(trigger, 'mvarValue_or_Start'),
    valueEnd: setNumber(trigger, 'ValEnd_Spec'),
  }
}

function setNumber(record: JsonObject, name: string): number | undefined {
  const value = readRecordNumber(record, name)
  return value !== undefined && Math.abs(value - UNSET_END) > 0.001 ? value : undefined
}
