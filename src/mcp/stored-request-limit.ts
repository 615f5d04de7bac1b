/**
 * Stored request limit: one that stays in memory after it was answered, because it opened a session or a subscription. A body
 * may be as long as the listener allows; a stored one must be shorter, or a few clients could fill the memory of a
 * small computer.
 */
import type { Json } from '../core/json.ts'

export const MAX_STORED_REQUEST_CHARACTERS = 65_536

export function isRequestTooLongForMemory(body: Json): boolean {
  return JSON.stringify(body).length > MAX_STORED_REQUEST_CHARACTERS
}
