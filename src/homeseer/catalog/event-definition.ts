/**
 * Event definition: what an automation does, as HomeSeer keeps it on disk in `events.json` and `eventgroups.json`.
 *
 *   event ─ Triggers.TrigGroups {K0:{$values:[trigger…]}, K1:…}
 *         └ ConditionalActions [{mvarConditions:[…], mvarActions:{K0:action…}}…]     action ─ devices {K412:{dvRef,…}}
 *
 * Undocumented by HomeSeer and older and newer than we are, so every member may be missing.
 *
 * Pure.
 */
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { booleanField, field, numberField, objectField, objectsField, textField } from '../wire/field.ts'

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

export interface DeviceAction {
  readonly deviceKey: string
  readonly ref: number | undefined
  readonly controlLabel: string | undefined
  readonly controlValue: number | undefined
}

export interface EventAction {
  readonly actionKey: string
  readonly type: string
  readonly delay: string | undefined
  readonly deviceActions: readonly DeviceAction[]
  readonly script: string | undefined
  readonly method: string | undefined
  readonly params: string | undefined
}

export interface ActionBlock {
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
  readonly blocks: readonly ActionBlock[]
  readonly triggerRefs: readonly number[]
  readonly actionRefs: readonly number[]
  /** Some of its actions are written in a way that we do not know, and are not among `blocks`. */
  readonly isUnread: boolean
  readonly runsScript: boolean
  /** HomeSeer's own mark for events that guard the house. */
  readonly security: boolean
  readonly enabled: boolean
  readonly raw: JsonObject
}

export interface DefinitionFault {
  readonly kind: 'not-events'
  readonly detail: string
}

/** HomeSeer's way of writing that a range has no end. */
const UNSET_END = -99_999.987_65

export function decodeDefinitions(events: Json, groups: Json): Result<readonly EventDefinition[], DefinitionFault> {
  const records = recordsOf(events)
  if (records === undefined) return fail({ kind: 'not-events', detail: 'events.json holds no list of events' })
  const names = new Map<number, string>()
  for (const group of recordsOf(groups) ?? []) {
    const ref = numberField(group, 'Ref', 'ref')
    if (ref !== undefined) names.set(ref, textField(group, 'Group', 'Name') ?? '')
  }
  return ok(records.map((record) => decodeDefinition(record, names)).filter((one) => one !== undefined))
}

function decodeDefinition(record: JsonObject, groups: ReadonlyMap<number, string>): EventDefinition | undefined {
  const id = numberField(record, 'evRef', 'Event_Ref')
  if (id === undefined) return undefined
  const groupRef = numberField(record, 'mvarGroupRef')
  const triggerGroups = keyed(objectField(objectField(record, 'Triggers') ?? {}, 'TrigGroups')).map(([, group]) =>
    (objectsField(group, '$values') ?? []).map(decodeTrigger),
  )
  const blocks = (objectsField(record, 'ConditionalActions') ?? []).map(decodeBlock)
  const actions = blocks.flatMap((block) => block.actions)
  return {
    id,
    name: textField(record, 'Name') ?? '',
    group: groupRef === undefined ? '' : (groups.get(groupRef) ?? ''),
    groupRef,
    type: textField(record, 'sType') ?? '',
    lastTriggered: textField(record, 'Last_Trigger_Time'),
    voiceTag: textField(record, 'Voice_Rec_Tag'),
    triggerGroups,
    blocks,
    triggerRefs: distinct(triggerGroups.flat().map((trigger) => trigger.deviceRef)),
    actionRefs: distinct(actions.flatMap((action) => action.deviceActions.map((one) => one.ref))),
    isUnread: isUnread(record),
    runsScript: actions.some((action) => action.script !== undefined || /script/i.test(action.type)),
    security: booleanField(record, 'Flag_Security') ?? false,
    enabled: booleanField(record, 'Flag_Enabled') ?? true,
    raw: record,
  }
}

/** No actions at all is something else than none that we can find. */
function isUnread(record: JsonObject): boolean {
  const blocks = objectsField(record, 'ConditionalActions')
  if (blocks === undefined) return true
  return blocks.some((block) => {
    const actions = objectField(block, 'mvarActions')
    const members = Object.keys(actions ?? {}).filter((name) => name !== '$type')
    return actions === undefined || keyed(actions).length < members.length
  })
}

function decodeTrigger(trigger: JsonObject, index: number): EventTrigger {
  return {
    index,
    type: textField(trigger, '$type') ?? '',
    deviceRef: deviceRef(trigger, 'ev_trig_dvRef'),
    triggerSubType: numberField(trigger, 'TriggerSubType'),
    operationSelected: booleanField(trigger, 'mvarOperationSelected'),
    anyDevice: booleanField(trigger, 'AnyDevice'),
    anyValue: booleanField(trigger, 'AnyValue'),
    condition: booleanField(trigger, 'Condition'),
    valueStart: setNumber(trigger, 'mvarValue_or_Start'),
    valueEnd: setNumber(trigger, 'ValEnd_Spec'),
  }
}

function decodeBlock(block: JsonObject): ActionBlock {
  const conditions = field(block, 'mvarConditions')
  return {
    conditions: Array.isArray(conditions) ? (conditions as readonly Json[]) : [],
    actions: keyed(objectField(block, 'mvarActions')).map(decodeAction),
  }
}

function decodeAction([actionKey, action]: readonly [string, JsonObject]): EventAction {
  return {
    actionKey,
    type: textField(action, '$type') ?? '',
    delay: textField(action, 'delay'),
    deviceActions: keyed(objectField(action, 'devices')).map(([deviceKey, device]) => ({
      deviceKey,
      ref: deviceRef(device, 'dvRef') ?? keyNumber(deviceKey),
      controlLabel: textField(device, 'ControlLabel'),
      controlValue: numberField(device, 'ControlValue'),
    })),
    script: textField(action, 'mvarScript'),
    method: textField(action, 'mvarMethod'),
    params: textField(action, 'mvarParams'),
  }
}

/** A list, or an object around one; and objects that stand for lists, as .NET writes them. */
function recordsOf(value: Json): readonly JsonObject[] | undefined {
  if (Array.isArray(value)) return (value as readonly Json[]).filter(isJsonObject)
  return isJsonObject(value) ? objectsField(value, 'Events', 'events', 'items', 'Groups', '$values') : undefined
}

/** The members `K0`, `K1`, … in the order of their numbers; `$type` and its like are not members. */
function keyed(group: JsonObject | undefined): readonly (readonly [string, JsonObject])[] {
  return Object.entries(group ?? {})
    .filter((entry): entry is [string, JsonObject] => keyNumber(entry[0]) !== undefined && isJsonObject(entry[1]))
    .sort(([left], [right]) => (keyNumber(left) ?? 0) - (keyNumber(right) ?? 0))
}

function keyNumber(key: string): number | undefined {
  return /^K\d{1,12}$/.test(key) ? Number(key.slice(1)) : undefined
}

function deviceRef(record: JsonObject, name: string): number | undefined {
  const ref = numberField(record, name)
  return ref !== undefined && Number.isSafeInteger(ref) && ref > 0 ? ref : undefined
}

function setNumber(record: JsonObject, name: string): number | undefined {
  const value = numberField(record, name)
  return value !== undefined && Math.abs(value - UNSET_END) > 0.001 ? value : undefined
}

function distinct(refs: readonly (number | undefined)[]): readonly number[] {
  return [...new Set(refs.filter((ref) => ref !== undefined))].sort((left, right) => left - right)
}
