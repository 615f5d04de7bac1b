/**
 * Result text: the answer to a request as JSON. Lists are the same objects until the catalogue changes, so they are
 * made once, and kept as bytes: a house with many devices has megabytes of tools, and all its clients ask again when
 * one of them comes or goes. They are sent the same bytes, not a copy each, whichever revision they speak.
 *
 *   {"jsonrpc":"2.0","id":7,"result": {"tools":[ ▏tool,tool,tool … ▏],"resultType":"complete" … } }
 *                                                 shared by all
 *
 * The bytes of each item are kept as well: of three thousand tools a device that comes back changes its own forty, and
 * only those are written anew.
 *
 * Pure; remembers.
 */
import { utf8 } from '../core/bytes.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { isJsonObject } from '../core/json.ts'
import type { RequestId } from './modern-request.ts'

/** A whole message; in pieces where a long one of them is shared. */
export type Message = string | readonly Uint8Array[]

export type ResultText = (asked: { readonly id: RequestId; readonly method: string }, result: JsonObject) => Message

/** `complete` adds what the revision wants on every result, and keeps the lists in it as they are. */
export function resultText(complete: (method: string, result: JsonObject) => JsonObject): ResultText {
  const kept = new WeakMap<JsonObject, readonly Uint8Array[]>()
  return ({ id, method }, result) => {
    const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`
    if (!method.endsWith('/list')) return `${head}${JSON.stringify(complete(method, result))}}`
    const list = kept.get(result) ?? inPieces(complete(method, result))
    kept.set(result, list)
    return [utf8(head), ...list, END]
  }
}

const END = utf8('}')
const [COMMA, OPEN, CLOSE] = [utf8(','), utf8('['), utf8(']')]

/** As `JSON.stringify` would write it. */
function inPieces(result: JsonObject): readonly Uint8Array[] {
  const members = Object.entries(result).filter(([, value]) => value !== undefined)
  const pieces = members.flatMap(([key, value], index) => [
    utf8(`${index === 0 ? '{' : ','}${JSON.stringify(key)}:`),
    ...(Array.isArray(value) ? [OPEN, itemsOf(value), CLOSE] : [utf8(JSON.stringify(value))]),
  ])
  return pieces.length === 0 ? [utf8('{}')] : [...pieces, END]
}

/** Items and lists do not change once made, so their bytes are those of the object. */
const lists = new WeakMap<readonly Json[], Uint8Array>()
const items = new WeakMap<JsonObject, Uint8Array>()

function itemsOf(list: readonly Json[]): Uint8Array {
  const known = lists.get(list)
  if (known !== undefined) return known
  const joined = Buffer.concat(list.flatMap((item, index) => (index === 0 ? [bytesOf(item)] : [COMMA, bytesOf(item)])))
  lists.set(list, joined)
  return joined
}

function bytesOf(item: Json): Uint8Array {
  if (!isJsonObject(item)) return utf8(JSON.stringify(item))
  const bytes = items.get(item) ?? Buffer.from(JSON.stringify(item))
  items.set(item, bytes)
  return bytes
}
