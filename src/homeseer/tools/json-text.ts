/**
 * JSON text: a member that should be a text, read without trusting that it is one; and texts that are cut.
 */
import type { Json } from '../../core/json.ts'

/** Texts and numbers; anything else is no text. */
export function toTextOrEmpty(value: Json | undefined): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

/** The beginning of a text, without the half of a character at its end: JSON cannot say that. */
export function truncateText(text: string, most: number): string {
  return text.slice(0, most).toWellFormed()
}
