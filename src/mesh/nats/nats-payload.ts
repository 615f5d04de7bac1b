/**
 * NATS message: the content of one NATS payload: one line of JSON with the type, a line feed, and the unchanged body.
 *
 *   to a node        call (envelope, proof, window) · ack (frames taken) · cancel · again (request the outcome)
 *   back             frame (number, event) · reply (status, proof) · unknown (it never came, signed) · forgotten
 */
import { concatBytes, fromUtf8, toUtf8 } from '../../core/bytes.ts'
import { isJsonObject, parseJsonOrUndefined } from '../../core/json.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'

export type NatsMessageToProvider =
  | {
      readonly t: 'call'
      readonly f: Readonly<Record<string, string>>
      readonly p: string
      /** How many frames may be sent before an acknowledgement. */
      readonly w?: number
    }
  /** `r` is the reply subject of the call that it is about. */
  | { readonly t: 'ack'; readonly r: string; readonly n: number }
  | { readonly t: 'cancel'; readonly r: string }
  /**
   * `c` is a random value that a signed answer "it never came" must contain, so that this answer cannot have been made
   * earlier.
   */
  | { readonly t: 'again'; readonly r: string; readonly c: string; readonly k?: string }

export type NatsAnswerMessage =
  | { readonly t: 'frame'; readonly n: number; readonly e: string }
  | { readonly t: 'reply'; readonly s: number; readonly p: string }
  | { readonly t: 'unknown'; readonly p: string }
  | { readonly t: 'forgotten' }

/** An envelope has about a kilobyte; a longer line is not a message of ours. */
const MAX_LINE = 8_192
const LINE_FEED = 0x0a

export function encodeNatsMessage(
  head: NatsMessageToProvider | NatsAnswerMessage,
  body: string | Uint8Array = '',
): Uint8Array {
  const line = toUtf8(`${JSON.stringify(head)}\n`)
  if (body.length === 0) return line
  return concatBytes(line, typeof body === 'string' ? toUtf8(body) : body)
}

/** Parsed by hand: every call between nodes passes here, and a schema library would double the cost of a message. */
export function decodeNatsMessageToProvider(payload: Uint8Array): Decoded<NatsMessageToProvider> {
  return decode(payload, (head) => {
    const { t, f, p, w, r, n, c, k } = head
    if (t === 'call')
      return isFields(f) && isText(p, 256) && (w === undefined || isCount(w, 1, 1_024))
        ? { t, f, p, ...(w === undefined ? {} : { w }) }
        : undefined
    if (!isText(r, 256)) return undefined
    if (t === 'ack') return isCount(n, 0) ? { t, r, n } : undefined
    if (t === 'cancel') return { t, r }
    if (t !== 'again' || !isText(c, 64)) return undefined
    return isText(k, 64) ? { t, r, c, k } : { t, r, c }
  })
}

export function decodeNatsAnswerMessage(payload: Uint8Array): Decoded<NatsAnswerMessage> {
  return decode(payload, ({ t, n, e, s, p }) => {
    if (t === 'forgotten') return { t }
    if (t === 'frame') return isCount(n, 1) && isText(e, 64) ? { t, n, e } : undefined
    if (!isText(p, 256)) return undefined
    if (t === 'unknown') return { t, p }
    return t === 'reply' && isCount(s, 100, 599) ? { t, s, p } : undefined
  })
}

/** The text that a node signs to state that a call never came. */
export function formatUnknownCallTextToSign(reply: string, challenge: string): string {
  return `unknown ${reply} ${challenge}`
}

type Decoded<Head> = Result<{ readonly head: Head; readonly body: Uint8Array }, string>

function decode<Head>(payload: Uint8Array, read: (head: JsonObject) => Head | undefined): Decoded<Head> {
  const end = payload.subarray(0, MAX_LINE).indexOf(LINE_FEED)
  const line = end < 0 ? undefined : fromUtf8(payload.subarray(0, end))
  if (line === undefined) return fail('no line at its beginning')
  const value = parseJsonOrUndefined(line)
  const head = isJsonObject(value) ? read(value) : undefined
  return head === undefined ? fail('not a message of ours') : ok({ head, body: payload.subarray(end + 1) })
}

function isFields(value: Json | undefined): value is Readonly<Record<string, string>> {
  if (!isJsonObject(value)) return false
  for (const key in value) if (typeof value[key] !== 'string') return false
  return true
}

function isText(value: Json | undefined, max: number): value is string {
  return typeof value === 'string' && value.length <= max
}

function isCount(value: Json | undefined, least: number, most = Number.MAX_SAFE_INTEGER): value is number {
  return Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most
}
