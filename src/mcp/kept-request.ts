/**
 * Kept request: one that stays with us after it was answered, because it opened a session or a subscription. A body may
 * be as long as the listener allows; what is kept may not, or a few clients could fill the memory of a small computer.
 */
import type { Json } from '../core/json.ts'

export const MAX_KEPT_CHARACTERS = 65_536

export function isTooLongToKeep(body: Json): boolean {
  return JSON.stringify(body).length > MAX_KEPT_CHARACTERS
}
