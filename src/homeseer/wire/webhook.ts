/**
 * Web hook: what HomeSeer posts to a configured address when a device changes.
 *
 *   {"type":"devicechange","data":{"ref":412,"name":…,"location":…,"location2":…,"value":99,"status":"On",
 *    "last_change":…}}
 */
import { fromUtf8 } from '../../core/bytes.ts'
import { isJsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { visibleJsonIn } from '../../core/stranger-text.ts'
import { decodeWireDate, encodeWireDate, recordNumber, recordObject, recordStatus, recordText } from './field.ts'
import type { MalformedReply } from './exchange.ts'

export interface HookedChange {
  readonly ref: number
  readonly name: string
  readonly location: string
  readonly location2: string
  readonly value: number
  readonly status: string
  readonly lastChangeMs: number | undefined
}

/** `undefined` for a hook of another type, which is not ours to refuse. */
export function decodeWebhook(body: Uint8Array): Result<HookedChange | undefined, MalformedReply> {
  const value = visibleJsonIn(fromUtf8(body))
  if (!isJsonObject(value)) return fail({ kind: 'malformed', detail: 'a web hook body that is not an object' })
  if (recordText(value, 'type')?.toLowerCase() !== 'devicechange') return ok(undefined)
  const data = recordObject(value, 'data') ?? {}
  const ref = recordNumber(data, 'ref')
  const current = recordNumber(data, 'value')
  if (ref === undefined || !Number.isSafeInteger(ref) || ref < 0 || current === undefined)
    return fail({ kind: 'malformed', detail: 'a device change without ref or value' })
  return ok({
    ref,
    name: recordText(data, 'name') ?? '',
    location: recordText(data, 'location') ?? '',
    location2: recordText(data, 'location2') ?? '',
    value: current,
    status: recordStatus(data, 'status'),
    lastChangeMs: decodeWireDate(recordText(data, 'last_change')),
  })
}

export function encodeWebhook(change: HookedChange, zone?: string): string {
  const { ref, name, location, location2, value, status, lastChangeMs } = change
  const last_change = encodeWireDate(lastChangeMs, zone)
  return JSON.stringify({
    type: 'devicechange',
    data: { ref, name, location, location2, value, status, last_change },
  })
}
