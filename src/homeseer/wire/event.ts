/**
 * Event record: an automation as `getevents` lists it. Older HomeSeers give only group and name.
 *
 *   {"Name":"HomeSeer Events","Version":"1.0","Events":[{"Group":"Evening","Name":"Dim Ground Floor","id":31,…}]}
 */
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { recordBoolean, recordNumber, recordObjects, recordText } from './field.ts'
import type { MalformedReply } from './exchange.ts'

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

export function decodeEvents(value: Json): Result<readonly ReceivedEvent[], MalformedReply> {
  const records = isJsonObject(value) ? recordObjects(value, 'Events', 'events') : undefined
  if (records === undefined) return fail({ kind: 'malformed', detail: 'an events reply without a list of events' })
  return ok(records.slice(0, MAX_EVENTS).map(decodeEvent))
}

function decodeEvent(record: JsonObject): ReceivedEvent {
  return {
    id: recordNumber(record, 'id', 'ID', 'Id', 'ref'),
    group: recordText(record, 'Group', 'group') ?? '',
    name: recordText(record, 'Name', 'name') ?? '',
    voiceCommand: recordText(record, 'voice_command') ?? '',
    voiceEnabled: recordBoolean(record, 'voice_command_enabled') ?? false,
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
