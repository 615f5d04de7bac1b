/**
 * Exchange: one question to HomeSeer as a value: what to send, whether asking twice is harmless, how to read the
 * answer.
 *
 *   exchange ▸ json-client ▸ bytes ▸ Reply ▸ exchange.decode ▸ Result
 *
 * Pure.
 */
import type { Json, JsonObject } from '../../core/json.ts'
import { ok, type Result } from '../../core/result.ts'
import { decodeJson, type Reply, type ReplyFault } from './reply.ts'

export type Parameter = readonly [name: string, value: string]

export interface HttpForm {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly query: readonly Parameter[]
  readonly body: HttpBody | undefined
}

interface HttpBody {
  readonly contentType: string
  readonly text: string
}

export interface Exchange<Value> {
  /** The request's name, the only part of a request that may be logged. */
  readonly name: string
  /** Only `reads` are ever sent twice. */
  readonly effect: 'reads' | 'writes'
  readonly http: HttpForm
  readonly decode: (reply: Reply) => Result<Value, ReplyFault>
}

const JSON_PATH = '/JSON'

/** What a parameter may be given as; `undefined` leaves it out, and HomeSeer then means all. */
export type ParameterValue = string | number | boolean | readonly number[] | undefined

export function jsonForm(request: string, parameters: Readonly<Record<string, ParameterValue>> = {}): HttpForm {
  const given = Object.entries(parameters).flatMap(([name, value]): Parameter[] =>
    value === undefined ? [] : [[name, parameterText(value)]],
  )
  return { method: 'GET', path: JSON_PATH, query: [['request', request], ...given], body: undefined }
}

/** The second form: an action in a JSON body. */
export function actionForm(action: string, members: JsonObject): HttpForm {
  const text = JSON.stringify({ action, ...members })
  return { method: 'POST', path: JSON_PATH, query: [], body: { contentType: 'application/json', text } }
}

export function pageForm(path: string, fields: readonly Parameter[]): HttpForm {
  const body = { contentType: 'application/x-www-form-urlencoded', text: encodeParameters(fields) }
  return { method: 'POST', path, query: [], body }
}

/** A space is `%20`, never `+`: strict decoders on the far side read a plus as a plus. */
export function encodeParameters(parameters: readonly Parameter[]): string {
  return parameters.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&')
}

/** An exchange this room has no words of its own for; the answer is data as it came. */
export function otherRequest(
  request: string,
  parameters: Readonly<Record<string, ParameterValue>>,
  effect: 'reads' | 'writes',
): Exchange<Json> {
  return { name: request, effect, http: jsonForm(request, parameters), decode: decodeAnything }
}

function decodeAnything(reply: Reply): Result<Json, ReplyFault> {
  if (reply.kind === 'word') return ok(reply.word)
  if (reply.kind === 'response' || reply.kind === 'text') return ok(reply.text)
  return decodeJson(reply)
}

function parameterText(value: Exclude<ParameterValue, undefined>): string {
  return Array.isArray(value) ? value.join(',') : String(value)
}
