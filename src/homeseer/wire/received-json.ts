/**
 * Received JSON: what a text of HomeSeer spells.
 *
 * HomeSeer and its plug-ins count in halves of characters: a title that was cut after so many of them may end in one
 * half of an emoji, which no other wire can carry. It is read as the character for what cannot be read, so that one
 * such device does not hide all the others.
 *
 * Pure.
 */
import { jsonIn, type Json } from '../../core/json.ts'

const HALF = /\\u[dD][89a-fA-F]/
/** Every escape as a whole, a pair as one: what then is half of a pair stands alone. */
const ESCAPE = /\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u....|.)/g

/** `undefined` is no JSON value, so it means that there was none. */
export function receivedJson(text: string | undefined): Json | undefined {
  if (text === undefined || !HALF.test(text)) return jsonIn(text)
  return jsonIn(text.replaceAll(ESCAPE, (escape) => (isHalf(escape) ? String.raw`\ufffd` : escape)))
}

function isHalf(escape: string): boolean {
  return escape.length === 6 && HALF.test(escape)
}
