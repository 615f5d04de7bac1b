/**
 * Event definition: what an automation does, as HomeSeer stores it in `events.json` and `eventgroups.json`.
 *
 *   event ─ Triggers.TrigGroups {K0:{$values:[trigger…]}, K1:…}
 *         └ ConditionalActions [{mvarConditions:[…], mvarActions:{K0:action…}}…]     action ─ devices {K412:{dvRef,…}}
 *
 * HomeSeer does not document the format, and versions differ, so every member may be missing.
 */
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import {
  readRecordBoolean,
  readRecordField,
  readRecordNumber,
  readRecordObject,
  readRecordObjects,
  readRecordText,
} from '../wire/record-field.ts'
import { listNumberedMembers, parseMemberNumber, readDeviceRefField } from './event-file-keys.ts'
import { collectPossibleIds, isFlagMember, listUnknownMembers } from './event-file-unknown-members.ts'
import { decodeTriggerGroups, readTriggerDevices, type EventTrigger, type TriggerDevices } from './event-trigger.ts'

export interface EventDeviceAction {
  readonly deviceKey: string
  readonly ref: number | undefined
  readonly controlLabel: string | undefined
  readonly controlValue: number | undefined
}

export interface EventAction {
  readonly actionKey: string
  readonly type: string
  readonly delay: string | undefined
  readonly deviceActions: readonly EventDeviceAction[]
  readonly script: string | undefined
  readonly method: string | undefined
  readonly params: string | undefined
}

export interface EventActionBlock {
  readonly conditions: readonly Json[]
  readonly actions: readonly EventAction[]
}

export interface EventDefinition {
  readonly id: number
  readonly name: string
  readonly group: string
  readonly groupRef: number | undefined
  readonly type: string
  readonly lastTriggered: string | undefined
  readonly voiceTag: string | undefined
  readonly triggerGroups: readonly (readonly EventTrigger[])[]
  readonly blocks: readonly EventActionBlock[]
  readonly triggerRefs: readonly number[]
  readonly triggerReach: TriggerDevices
  readonly actionRefs: readonly number[]
  /** Numbers of events in actions that are not understood, which the event may run. */
  readonly mayRun: readonly number[]
  /** The names of members of its actions that are not understood; empty if all of them are. */
  readonly unknown: readonly string[]
  readonly runsScript: boolean
  /** HomeSeer's own mark for events that guard the house. */
  readonly security: boolean
  readonly enabled: boolean
  readonly raw: JsonObject
}

export interface EventDefinitionsDecodeFault {
  readonly kind: 'not-events'
  readonly detail: string
}

/** Members that do not affect what an event does: names, marks, times, counts. The owner can add to them. */
const RECORD_MEMBERS = [
  'evRef Event_Ref Name Event_Name mvarGroupRef GroupID GroupName sType Event_Type',
  'Last_Trigger_Time Last_Triggered Retrigger_Delay Voice_Rec_Tag UserNote mvarUserNote',
  'Triggers Trigger_Count Trigger_Group_Count ConditionalActions Action_Count',
]
const BLOCK_MEMBERS = ['mvarConditions mvarActions']
const ACTION_MEMBERS = ['delay devices mvarScript mvarMethod mvarParams']
const DEVICE_MEMBERS = ['dvRef ControlLabel ControlValue']

export interface DecodedEventDefinitions {
  readonly definitions: readonly EventDefinition[]
  /**
   * The number of records that are not events, or have no number or that of another, so that their effect is unknown.
   */
  readonly unread: number
}

export function decodeEventDefinitions(
  events: Json,
  groups: Json,
  ownerMembers: readonly string[] = [],
): Result<DecodedEventDefinitions, EventDefinitionsDecodeFault> {
  const records = recordsOf(events)
  if (records === undefined) return fail({ kind: 'not-events', detail: 'events.json holds no list of events' })
  const { found, unread: unreadGroups } = decodeGroups(groups, ownerMembers)
  const parts = { groups: found, members: knownMembers(ownerMembers) }
  const definitions = records
    .map((record) => (isJsonObject(record) ? decodeDefinition(record, parts) : undefined))
    .filter((one) => one !== undefined)
  const numbers = new Set(definitions.map(({ id }) => id))
  const unreadEvents = records.length - numbers.size + listMembersBesideRecords(events).length
  return ok({ definitions, unread: unreadEvents + unreadGroups })
}

interface EventGroup {
  readonly name: string
  /** A group can have actions of its own, which run with each of its events. */
  readonly unknown: readonly string[]
}

const GROUP_MEMBERS =
  'Group Name Ref ref GroupID GroupName Global_Conditions Global_Conditions_Count mvarGlobalConditions'

interface DecodedEventGroups {
  readonly found: ReadonlyMap<number, EventGroup>
  /** The number of records without a number, whose actions belong to an unknown group. */
  readonly unread: number
}

function decodeGroups(groups: Json, ownerMembers: readonly string[]): DecodedEventGroups {
  const known = new Set([...GROUP_MEMBERS.split(' '), ...ownerMembers])
  const found = new Map<number, EventGroup>()
  let unread = 0
  for (const group of recordsOf(groups) ?? []) {
    const ref = isJsonObject(group) ? readRecordNumber(group, 'Ref', 'ref', 'GroupID') : undefined
    if (ref === undefined || !isJsonObject(group)) {
      unread++
      continue
    }
    const name = readRecordText(group, 'Group', 'GroupName', 'Name') ?? ''
    found.set(ref, { name, unknown: [...(found.get(ref)?.unknown ?? []), ...listUnknownMembers(group, known)] })
  }
  return { found, unread }
}

/** If the file lacks an event's group, it is unknown what that group does with its events. */
function listUnknownGroupMembers(group: EventGroup | undefined, ref: number | undefined): readonly string[] {
  if (group !== undefined) return group.unknown
  return ref === undefined || ref === 0 ? [] : ['mvarGroupRef']
}

interface KnownMembers {
  readonly record: ReadonlySet<string>
  readonly block: ReadonlySet<string>
  readonly action: ReadonlySet<string>
  readonly device: ReadonlySet<string>
}

function knownMembers(ownerMembers: readonly string[]): KnownMembers {
  const set = (lines: readonly string[]) => new Set([...lines.flatMap((line) => line.split(' ')), ...ownerMembers])
  return {
    record: set(RECORD_MEMBERS),
    block: set(BLOCK_MEMBERS),
    action: set(ACTION_MEMBERS),
    device: set(DEVICE_MEMBERS),
  }
}

function decodeDefinition(
  record: JsonObject,
  { groups, members }: { readonly groups: ReadonlyMap<number, EventGroup>; readonly members: KnownMembers },
): EventDefinition | undefined {
  const id = readRecordNumber(record, 'evRef', 'Event_Ref')
  if (id === undefined) return undefined
  const groupRef = readRecordNumber(record, 'mvarGroupRef')
  const group = groupRef === undefined ? undefined : groups.get(groupRef)
  const triggerGroups = decodeTriggerGroups(record)
  const unknownMembers = listUnknownMembers(record, members.record).filter((name) => !isFlagMember(name, record[name]))
  const blocks = (readRecordObjects(record, 'ConditionalActions') ?? []).map(decodeBlock)
  const actions = blocks.flatMap((block) => block.actions)
  return {
    id,
    name: readRecordText(record, 'Name') ?? '',
    group: group?.name ?? '',
    groupRef,
    type: readRecordText(record, 'sType') ?? '',
    lastTriggered: readRecordText(record, 'Last_Trigger_Time'),
    voiceTag: readRecordText(record, 'Voice_Rec_Tag'),
    triggerGroups,
    blocks,
    triggerRefs: distinct(triggerGroups.flat().map((trigger) => trigger.deviceRef)),
    triggerReach: readTriggerDevices(record, unknownMembers),
    actionRefs: distinct(actions.flatMap((action) => action.deviceActions.map((one) => one.ref))),
    mayRun: mayRun(record, members),
    unknown: [
      ...new Set([
        ...unknownMembers,
        ...listUnknownActions(record, members),
        ...listUnknownGroupMembers(group, groupRef),
      ]),
    ],
    runsScript:
      actions.some((action) => action.script !== undefined || /script/i.test(action.type)) ||
      // A condition that is code runs that code, whatever its result.
      blocks.some(({ conditions }) => /script/i.test(JSON.stringify(conditions))),
    security: readRecordBoolean(record, 'Flag_Security') ?? false,
    enabled: readRecordBoolean(record, 'Flag_Enabled') ?? true,
    raw: record,
  }
}

/**
 * Members of the record's blocks that may be further actions. They include a device without a number, and an action
 * that neither sets a device nor runs a script. An event without actions is different from one in which none could be
 * found.
 */
function listUnknownActions(record: JsonObject, members: KnownMembers): readonly string[] {
  const blocks = readRecordField(record, 'ConditionalActions')
  if (!Array.isArray(blocks)) return ['ConditionalActions']
  return (blocks as readonly Json[]).flatMap((block) =>
    isJsonObject(block) ? unknownInBlock(block, members) : ['ConditionalActions'],
  )
}

function unknownInBlock(block: JsonObject, members: KnownMembers): readonly string[] {
  const actions = readRecordObject(block, 'mvarActions')
  if (actions === undefined) return ['mvarActions', ...listUnknownMembers(block, members.block)]
  const known = listNumberedMembers(actions)
  const unknown = Object.keys(actions).filter((name) => name !== '$type' && !known.some(([key]) => key === name))
  return [
    ...listUnknownMembers(block, members.block),
    ...unknown,
    ...known.flatMap(([, action]) => unknownInAction(action, members)),
  ]
}

function unknownInAction(action: JsonObject, members: KnownMembers): readonly string[] {
  const type = readRecordText(action, '$type') ?? ''
  const devices = readRecordObject(action, 'devices')
  const sets = listNumberedMembers(devices)
  const isUnknown = sets.length === 0 && (readRecordText(action, 'mvarScript') ?? '') === ''
  const unknownKeys = Object.keys(devices ?? {}).filter(
    (name) => name !== '$type' && parseMemberNumber(name) === undefined,
  )
  return [
    ...(isUnknown ? [type === '' ? 'action' : shortType(type)] : []),
    ...listUnknownMembers(action, members.action),
    ...unknownKeys,
    ...sets.flatMap(([key, device]) => [
      ...(isKeyOf(key, device) ? [] : [key]),
      ...listUnknownMembers(device, members.device),
    ]),
  ]
}

/** A device is named twice, by the key and inside; if they differ, it is unknown which one HomeSeer uses. */
function isKeyOf(key: string, device: JsonObject): boolean {
  return (
    readRecordField(device, 'dvRef') === undefined || readDeviceRefField(device, 'dvRef') === parseMemberNumber(key)
  )
}

/** The short form for readers: `Scheduler.Classes.EvACT_EVENT, Scheduler` is EvACT_EVENT. */
function shortType(type: string): string {
  return /(\w+)\s*(?:,|$)/.exec(type)?.[1] ?? type.slice(0, 100)
}

/** The events that an action may run: it is not understood, and contains their numbers. */
function mayRun(record: JsonObject, members: KnownMembers): readonly number[] {
  const actions = (readRecordObjects(record, 'ConditionalActions') ?? []).flatMap((block) =>
    listNumberedMembers(readRecordObject(block, 'mvarActions')),
  )
  const numbers = actions
    .filter(([, action]) => unknownInAction(action, members).length > 0)
    .flatMap(([, action]) =>
      listUnknownMembers(action, members.action).flatMap((name) => [...collectPossibleIds(action[name])]),
    )
  return distinct(numbers)
}

function decodeBlock(block: JsonObject): EventActionBlock {
  const conditions = readRecordField(block, 'mvarConditions')
  return {
    conditions: Array.isArray(conditions) ? (conditions as readonly Json[]) : [],
    actions: listNumberedMembers(readRecordObject(block, 'mvarActions')).map(decodeAction),
  }
}

function decodeAction([actionKey, action]: readonly [string, JsonObject]): EventAction {
  return {
    actionKey,
    type: readRecordText(action, '$type') ?? '',
    delay: readRecordText(action, 'delay'),
    deviceActions: listNumberedMembers(readRecordObject(action, 'devices')).map(([deviceKey, device]) => ({
      deviceKey,
      ref: readDeviceRefField(device, 'dvRef') ?? parseMemberNumber(deviceKey),
      controlLabel: readRecordText(device, 'ControlLabel'),
      controlValue: readRecordNumber(device, 'ControlValue'),
    })),
    script: readRecordText(action, 'mvarScript'),
    method: readRecordText(action, 'mvarMethod'),
    params: readRecordText(action, 'mvarParams'),
  }
}

/** A list, or an object around one; and objects that stand for lists, as .NET writes them. */
function recordsOf(value: Json): readonly Json[] | undefined {
  if (Array.isArray(value)) return value as readonly Json[]
  const inside = isJsonObject(value)
    ? readRecordField(value, 'Events', 'events', 'items', 'Groups', '$values')
    : undefined
  return Array.isArray(inside) ? (inside as readonly Json[]) : undefined
}

/** A file that is an object around the list can hold further lists. */
function listMembersBesideRecords(value: Json): readonly string[] {
  const records = recordsOf(value)
  if (!isJsonObject(value)) return []
  return listUnknownMembers(value, new Set(['Name', 'Version', 'Count'])).filter((name) => value[name] !== records)
}

function distinct(refs: readonly (number | undefined)[]): readonly number[] {
  return [...new Set(refs.filter((ref) => ref !== undefined))].sort((left, right) => left - right)
}
