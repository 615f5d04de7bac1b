/**
 * Result text: the answer to a request as JSON. Lists are the same objects until the catalogue changes, so they are
 * made once, and kept as bytes: a house with many devices has megabytes of tools, and all its clients ask again when
 * one of them comes or goes. They are sent the same bytes, not a copy each.
 *
 * Pure; remembers.
 */
import { utf8 } from '../core/bytes.ts'
import type { JsonObject } from '../core/json.ts'
import type { RequestId } from './modern-request.ts'

/** A whole message; in pieces where a long one of them is shared. */
export type Message = string | readonly Uint8Array[]

export type ResultText = (asked: { readonly id: RequestId; readonly method: string }, result: JsonObject) => Message

/** `complete` adds what the revision wants on every result. */
export function resultText(complete: (method: string, result: JsonObject) => JsonObject): ResultText {
  const kept = new WeakMap<JsonObject, Uint8Array>()
  return ({ id, method }, result) => {
    const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`
    const text = (): string => JSON.stringify(complete(method, result))
    if (!method.endsWith('/list')) return `${head}${text()}}`
    const list = kept.get(result) ?? utf8(text())
    kept.set(result, list)
    return [utf8(head), list, END]
  }
}

const END = utf8('}')
