/**
 * Set outcome: the call that changes a thing with the claims that its family wants, and what its answer proves.
 */
import type { Json } from '../core/json.ts'
import { valueAt, textAt } from './json-path.ts'
import type { ThingCall } from './thing.ts'

/** HomeSeer's tools want it said that a change is meant, and why. Such a call runs as it is printed. */
export function addHomeseerClaims(
  { tool, arguments: body }: ThingCall,
  { why: reason }: { readonly why: string },
): ThingCall & { readonly arguments: ThingCall['arguments'] } {
  return tool.startsWith('hs4.')
    ? { tool, arguments: { ...body, confirm: true, intent: reason, reason } }
    : { tool, arguments: body }
}

/** Whether it was seen afterwards, from something else than the field that was written. */
export function isChangeConfirmed(data: Json): boolean {
  return (
    valueAt(data, 'verification', 'matched') === true ||
    textAt(data, 'verification', 'outcome') === 'confirmed' ||
    valueAt(data, 'data', 'confirmed') === true
  )
}
