/**
 * Event record: an automation as `getevents` lists it. Older HomeSeers give only group and name.
 *
 *   {"Name":"HomeSeer Events","Version":"1.0","Events":[{"Group":"Evening","Name":"Dim Ground Floor","id":31,…}]}
 *
 * Pure.
 */
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { booleanField, numberField, objectsField, textField } from './field.ts'
import type { Malformed } from './exchange.ts'

export interface EventRecord {
  readonly id: number | undefined
  readonly group: string
  readonly name: string
  readonly voiceCommand: string
  readonly voiceEnabled: boolean
}

export interface ReceivedEvent extends EventRecord {
  readonly raw: JsonObject
}

const MAX_EVENTS = 20_000

export function decodeEvents(value: Json): Result<readonly ReceivedEvent[], Malformed> {
  const records = isJsonObject(value) ? objectsField(value, 'Events', 'events') : undefined
  if (records === undefined) return fail({ kind: 'malformed', detail: 'an events reply without a list of events' })
  return ok(records.slice(0, MAX_EVENTS).map(decodeEvent))
}

function decodeEvent(record: JsonObject): ReceivedEvent {
  return {
    id: numberField(record, 'id', 'ID', 'Id', 'ref'),
    group: textField(record, 'Group', 'group') ?? '',
    name: textField(record, 'Name', 'name') ?? '',
    voiceCommand: textField(record, 'voice_command') ?? '',
    voiceEnabled: booleanField(record, 'voice_command_enabled') ?? false,
    raw: record,
  }
}

export function encodeEvent(event: EventRecord): JsonObject {
  return {
    Group: event.group,
    Name: event.name,
    ...(event.id === undefined ? {} : { id: event.id }),
    voice_command: event.voiceCommand,
    voice_command_enabled: event.voiceEnabled,
  }
}
