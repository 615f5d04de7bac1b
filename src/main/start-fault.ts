/**
 * Start fault: why a gateway does not start, as a sentence that says what to do.
 *
 * Pure.
 */
import { fail } from '../core/result.ts'

export interface StartFault {
  readonly kind: 'running-already' | 'refused'
  readonly message: string
}

export function refused(message: string): { readonly ok: false; readonly fault: StartFault } {
  return fail({ kind: 'refused', message })
}
