/**
 * Web hook: what HomeSeer posts to a configured address when a device changes.
 *
 *   {"type":"devicechange","data":{"ref":412,"name":…,"location":…,"location2":…,"value":99,"status":"On",
 *    "last_change":…}}
 */
import { fromUtf8 } from '../../core/bytes.ts'
import { isJsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { parseAndSanitizeJson } from '../../core/untrusted-text.ts'
import {
  decodeWireDate,
  encodeWireDate,
  readRecordNumber,
  readRecordObject,
  readRecordStatusText,
  readRecordText,
} from './record-field.ts'
import type { MalformedReplyFault } from './http-exchange.ts'

export interface WebhookChange {
  readonly ref: number
  readonly name: string
  readonly location: string
  readonly location2: string
  readonly value: number
  readonly status: string
  readonly lastChangeMs: number | undefined
}

/** Returns `undefined` for a hook of another type, which is ignored. */
export function decodeWebhook(body: Uint8Array): Result<WebhookChange | undefined, MalformedReplyFault> {
  const value = parseAndSanitizeJson(fromUtf8(body))
  if (!isJsonObject(value)) return fail({ kind: 'malformed', detail: 'a web hook body that is not an object' })
  if (readRecordText(value, 'type')?.toLowerCase() !== 'devicechange') return ok(undefined)
  const data = readRecordObject(value, 'data') ?? {}
  const ref = readRecordNumber(data, 'ref')
  const current = readRecordNumber(data, 'value')
  if (ref === undefined || !Number.isSafeInteger(ref) || ref < 0 || current === undefined)
    return fail({ kind: 'malformed', detail: 'a device change without ref or value' })
  return ok({
    ref,
    name: readRecordText(data, 'name') ?? '',
    location: readRecordText(data, 'location') ?? '',
    location2: readRecordText(data, 'location2') ?? '',
    value: current,
    status: readRecordStatusText(data, 'status'),
    lastChangeMs: decodeWireDate(readRecordText(data, 'last_change')),
  })
}

export function encodeWebhook(change: WebhookChange, zone?: string): string {
  const { ref, name, location, location2, value, status, lastChangeMs } = change
  const last_change = encodeWireDate(lastChangeMs, zone)
  return JSON.stringify({
    type: 'devicechange',
    data: { ref, name, location, location2, value, status, last_change },
  })
}
