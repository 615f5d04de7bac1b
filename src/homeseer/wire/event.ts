/**
 * Event record: an automation as `getevents` lists it. Older HomeSeers give only group and name.
 *
 *   {"Name":"HomeSeer Events","Version":"1.0","Events":[{"Group":"Evening","Name":"Dim Ground Floor","id":31,…}]}
 */
import { omitUndefined, isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { readRecordBoolean, readRecordNumber, readRecordObjects, readRecordText } from './record-field.ts'
import type { MalformedReplyFault } from './http-exchange.ts'

export interface EventRecord {
  readonly id: number | undefined
  readonly group: string
  readonly name: string
  readonly voiceCommand: string
  readonly voiceEnabled: boolean
}

export interface ReceivedEventRecord extends EventRecord {
  readonly raw: JsonObject
}

const MAX_EVENTS = 20_000

export function decodeEvents(value: Json): Result<readonly ReceivedEventRecord[], MalformedReplyFault> {
  const records = isJsonObject(value) ? readRecordObjects(value, 'Events', 'events') : undefined
  if (records === undefined) return fail({ kind: 'malformed', detail: 'an events reply without a list of events' })
  return ok(records.slice(0, MAX_EVENTS).map(decodeEvent))
}

function decodeEvent(record: JsonObject): ReceivedEventRecord {
  return {
    id: readRecordNumber(record, 'id', 'ID', 'Id', 'ref'),
    group: readRecordText(record, 'Group', 'group') ?? '',
    name: readRecordText(record, 'Name', 'name') ?? '',
    voiceCommand: readRecordText(record, 'voice_command') ?? '',
    voiceEnabled: readRecordBoolean(record, 'voice_command_enabled') ?? false,
    raw: record,
  }
}

export function encodeEvent(event: EventRecord): JsonObject {
  return {
    Group: event.group,
    Name: event.name,
    ...omitUndefined({ id: event.id }),
    voice_command: event.voiceCommand,
    voice_command_enabled: event.voiceEnabled,
  }
}
