/**
 * JSON text: reads members that should be texts but may not be, and truncates texts.
 */
import type { Json } from '../../core/json.ts'

/** The text of a string or number; empty for any other value. */
export function toTextOrEmpty(value: Json | undefined): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

/** The beginning of a text, without half of a surrogate pair at its end, which JSON cannot express. */
export function truncateText(text: string, most: number): string {
  return text.slice(0, most).toWellFormed()
}
