/**
 * Case-insensitive JSON field: finds keys as the firmware's JSON library does, without regard to case.
 *
 * Only ASCII letters are folded, as the C library does, and the first of several spellings wins.
 */
import type { Json, JsonObject } from '../../core/json.ts'

export function findJsonFieldIgnoringCase(object: JsonObject, name: string): Json | undefined {
  for (const key of Object.keys(object)) if (isSameJsonKeyIgnoringCase(key, name)) return object[key]
  return undefined
}

export function isSameJsonKeyIgnoringCase(left: string, right: string): boolean {
  return left === right || (left.length === right.length && foldAscii(left) === foldAscii(right))
}

function foldAscii(text: string): string {
  return text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
}
