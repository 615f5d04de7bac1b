/**
 * Caller key: the name under which a caller is known in records, and under which what is its own is kept.
 *
 *   claude                      a principal of this node
 *   service:console-history     a service of this node
 *   peer:ed25519:…              another node
 *
 * No principal's name has a colon in it.
 *
 * Pure.
 */
import type { Caller } from './call.ts'

export function callerKey(caller: Caller): string {
  return caller.kind === 'principal' ? caller.id : `${caller.kind}:${caller.id}`
}
