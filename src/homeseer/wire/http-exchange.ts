/**
 * HTTP exchange: one request to HomeSeer as a value: what to send, whether it may be repeated, and how to decode the
 * answer.
 *
 *   exchange ▸ json-client ▸ bytes ▸ Reply ▸ exchange.decode ▸ Result
 */
import { ok, type Result, fail } from '../../core/result.ts'
import { fromUtf8 } from '../../core/bytes.ts'
import { isJsonObject, type Json } from '../../core/json.ts'
import { parseAndSanitizeJson, sanitizeLine, sanitizeText } from '../../core/untrusted-text.ts'
import { limitJsonDepthAndText, readRecordText } from './record-field.ts'

export type HttpParameter = readonly [name: string, value: string]

export interface HomeseerHttpRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly query: readonly HttpParameter[]
  readonly body: HttpBody | undefined
}

interface HttpBody {
  readonly contentType: string
  readonly text: string
}

export interface HomeseerRequestDefinition<Value> {
  /** The request's name, the only part of a request that may be logged. */
  readonly name: string
  /** Only `reads` are ever sent twice. */
  readonly effect: 'reads' | 'writes'
  readonly http: HomeseerHttpRequest
  readonly decode: (reply: HomeseerReplyBody) => Result<Value, HomeseerReplyFault>
}

const JSON_PATH = '/JSON'

/** What a parameter may be given as; `undefined` leaves it out, and HomeSeer then means all. */
type HttpParameterValue = string | number | boolean | readonly number[] | undefined
export type HttpParameters = Readonly<Record<string, HttpParameterValue>>

export function createJsonHttpRequest(request: string, parameters: HttpParameters = {}): HomeseerHttpRequest {
  const given = Object.entries(parameters).flatMap(([name, value]): HttpParameter[] =>
    value === undefined ? [] : [[name, parameterText(value)]],
  )
  return { method: 'GET', path: JSON_PATH, query: [['request', request], ...given], body: undefined }
}

export function createFormPostHttpRequest(path: string, fields: readonly HttpParameter[]): HomeseerHttpRequest {
  const body = { contentType: 'application/x-www-form-urlencoded', text: encodeHttpParameters(fields) }
  return { method: 'POST', path, query: [], body }
}

/** A space is encoded as `%20`, never as `+`: strict decoders on the far side read a plus as a plus. */
export function encodeHttpParameters(parameters: readonly HttpParameter[]): string {
  return parameters.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&')
}

/** An exchange for which this module has no function; the answer is returned as data. */
export function createGenericHomeseerRequest(
  request: string,
  parameters: HttpParameters,
  effect: 'reads' | 'writes',
): HomeseerRequestDefinition<Json> {
  return { name: request, effect, http: createJsonHttpRequest(request, parameters), decode: decodeAnything }
}

function decodeAnything(reply: HomeseerReplyBody): Result<Json, HomeseerReplyFault> {
  if (reply.kind === 'word') return ok(reply.word)
  if (reply.kind === 'response' || reply.kind === 'text') return ok(reply.text)
  return decodeJsonReply(reply)
}

function parameterText(value: Exclude<HttpParameterValue, undefined>): string {
  return Array.isArray(value) ? value.join(',') : String(value)
}

// Reply: the kinds of answers of HomeSeer's web server, distinguished by the body alone, because its content types are
// unreliable.
//
//   ok CRLF | error CRLF        where no JSON is due
//   {"Response":"…"}            newer code; a text that begins with Error is a refusal, with status 200
//   {…} | […]                   data
//   FF D8 FF … | 89 50 4E 47 …  a picture
//   <html …                     a page: the login page, or what a form page answers
//   anything else               a text, which only plug-in functions may answer with

export type HomeseerReplyBody =
  | { readonly kind: 'word'; readonly word: 'ok' }
  | { readonly kind: 'response'; readonly text: string }
  | { readonly kind: 'json'; readonly value: Json }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'page' }
  | { readonly kind: 'image'; readonly mimeType: string; readonly bytes: Uint8Array }

export interface MalformedReplyFault {
  readonly kind: 'malformed'
  readonly detail: string
}

/**
 * `error`: the bare word, which is how a control is refused. `bad-request`: an unknown request or a bad parameter,
 * HomeSeer has one text for both. `unsupported`: a text that says so. `other`: any other text where `ok` was due.
 */
interface Refused {
  readonly kind: 'refused'
  readonly reason: 'error' | 'bad-request' | 'unsupported' | 'other'
  readonly text: string
}

export type HomeseerReplyFault =
  | MalformedReplyFault
  | Refused
  | { readonly kind: 'unauthorised' }
  | { readonly kind: 'json-disabled'; readonly text: string }

/** Enough of an untrusted text to understand it, and too little to fill a log. */
const MAX_QUOTED = 200

export function decodeHomeseerReply(body: Uint8Array): Result<HomeseerReplyBody, HomeseerReplyFault> {
  const mimeType = imageType(body)
  if (mimeType !== undefined) return ok({ kind: 'image', mimeType, bytes: body })
  const text = readableText(body).trim()
  if (/^ok$/i.test(text)) return ok({ kind: 'word', word: 'ok' })
  if (/^"?error/i.test(text)) return fail(refusal(text.replaceAll('"', '')))
  const received = parseAndSanitizeJson(text)
  if (received === undefined) return decodeText(text)
  const value = limitJsonDepthAndText(received)
  const response = isJsonObject(value) ? readRecordText(value, 'Response') : undefined
  if (response !== undefined && /^error/i.test(response.trim())) return fail(refusal(response.trim()))
  const sole = isJsonObject(value) && Object.keys(value).length === 1
  return ok(response !== undefined && sole ? { kind: 'response', text: response } : { kind: 'json', value })
}

/** For writes that answer only `ok`: any other text is a refusal. */
export function decodeAcknowledgement(reply: HomeseerReplyBody): Result<void, HomeseerReplyFault> {
  if (reply.kind === 'word') return ok(undefined)
  if (reply.kind !== 'response' && reply.kind !== 'text') return fail(createMalformedReplyFault(reply, 'ok'))
  const text = reply.text.trim()
  if (text === '') return fail({ kind: 'malformed', detail: 'an empty body where ok was due' })
  return /^ok$/i.test(text) ? ok(undefined) : fail(refusal(text))
}

export function decodeJsonReply(reply: HomeseerReplyBody): Result<Json, HomeseerReplyFault> {
  if (reply.kind === 'json') return ok(reply.value)
  return fail(createMalformedReplyFault(reply, 'data'))
}

export function createMalformedReplyFault(reply: HomeseerReplyBody, due: string): MalformedReplyFault {
  return { kind: 'malformed', detail: `a ${reply.kind} body where ${due} was due` }
}

/** Anchored at the beginning: otherwise a long text that repeats a word would be scanned once per repetition. */
function refusal(text: string): HomeseerReplyFault {
  const quoted = sanitizeLine(text, MAX_QUOTED)
  if (/\b(log ?in|password|unauthori[sz]ed|not authori[sz]ed|access denied)\b/i.test(quoted))
    return { kind: 'unauthorised' }
  if (/\bjson\b.*\b(disabled|not enabled|off)\b/i.test(quoted)) return { kind: 'json-disabled', text: quoted }
  return { kind: 'refused', reason: refusalReason(quoted), text: quoted }
}

function refusalReason(text: string): Refused['reason'] {
  if (/^error\.?$/i.test(text)) return 'error'
  if (/bad request/i.test(text)) return 'bad-request'
  if (/unknown (request|action)|not supported|unsupported|does not exist|not available|method not found/i.test(text))
    return 'unsupported'
  return 'other'
}

function imageType(body: Uint8Array): string | undefined {
  if (body[0] === 0xff && body[1] === 0xd8 && body[2] === 0xff) return 'image/jpeg'
  if (body[0] === 0x89 && body[1] === 0x50 && body[2] === 0x4e && body[3] === 0x47) return 'image/png'
  return undefined
}

/** Decodes UTF-8, or Latin-1 for other bytes, because plug-ins pass their own bytes through. */
function readableText(body: Uint8Array): string {
  const text = fromUtf8(body) ?? Buffer.from(body).toString('latin1')
  return text.startsWith('\uFEFF') ? text.slice(1) : text
}

/** A page is never quoted: it is long, and a form on it may contain what a person typed. */
function decodeText(text: string): Result<HomeseerReplyBody, HomeseerReplyFault> {
  if (text.startsWith('<'))
    return /type=["']?password/i.test(text) ? fail({ kind: 'unauthorised' }) : ok({ kind: 'page' })
  if (/^[{[]/.test(text)) return fail({ kind: 'malformed', detail: 'data that is cut off or not JSON' })
  // Control characters mostly mean a compressed body, although none was requested.
  if (/(?![\t\r\n])\p{Cc}/u.test(text)) return fail({ kind: 'malformed', detail: 'bytes that are no text' })
  return ok({ kind: 'text', text: sanitizeText(text) })
}
