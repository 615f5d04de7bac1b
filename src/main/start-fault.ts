/**
 * Start fault: why a gateway does not start, as a sentence that says what to do.
 */
import { fail } from '../core/result.ts'

export interface StartFault {
  /** `misconfigured`: another setting would help. `refused`: the records or keys have a defect. */
  // Each has an exit code of its own (cli/gateway-start-server.ts).
  readonly kind: 'running-already' | 'misconfigured' | 'refused'
  readonly message: string
}

export function createRefusedStartResult(message: string): { readonly ok: false; readonly fault: StartFault } {
  return fail({ kind: 'refused', message })
}

export function createMisconfiguredStartResult(message: string): { readonly ok: false; readonly fault: StartFault } {
  return fail({ kind: 'misconfigured', message })
}
