/**
 * JSON text: a member that should be a text, read without trusting that it is one.
 *
 * Pure.
 */
import type { Json } from '../../core/json.ts'

/** Texts and numbers; anything else is no text. */
export function textOf(value: Json | undefined): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}
