/**
 * Change call and read-back: adds the guard arguments that the family requires to a call, and reads from its answer
 * whether the change was read back.
 */
import type { Json } from '../core/json.ts'
import { readJsonValueAt, readTextAt } from './json-path.ts'
import type { ThingCall } from './thing.ts'

/** HomeSeer's tools require `confirm`, `intent` and `reason`. With these the call can be made as it is shown. */
export function addHomeseerGuardArguments(
  { tool, arguments: body }: ThingCall,
  { why: reason }: { readonly why: string },
): ThingCall {
  return tool.startsWith('hs4.')
    ? { tool, arguments: { ...body, confirm: true, intent: reason, reason } }
    : { tool, arguments: body }
}

/** Whether the change was confirmed by reading something other than the field that was written. */
export function isChangeReadBack(data: Json): boolean {
  return (
    readJsonValueAt(data, 'verification', 'matched') === true ||
    readTextAt(data, 'verification', 'outcome') === 'confirmed' ||
    readJsonValueAt(data, 'data', 'confirmed') === true ||
    (readJsonValueAt(data, 'data', 'success') === true && readJsonValueAt(data, 'data', 'read_back') !== undefined)
  )
}
