/**
 * Mesh refusal: why a node refuses a message, with spec 2's codes and a machine-readable reason.
 */
import { toFaultKind } from '../bus/error-code.ts'
import type { ErrorCode } from '../bus/error-code.ts'
import type { Fault } from '../core/fault.ts'

export type MeshRefusalReason =
  | 'envelope'
  | 'not-json'
  | 'too-large'
  | 'no-community'
  | 'foreign-community'
  | 'wrong-recipient'
  | 'skew'
  | 'stranger'
  | 'revoked'
  | 'proof'
  | 'unknown-session'
  | 'needs-signature'
  | 'replayed'
  | 'rate'
  | 'schema-hash'
  | 'invitation'
  | 'question'
  | 'stopping'

export function createMeshRefusal(
  code: ErrorCode,
  reason: MeshRefusalReason,
  message: string,
  more: Partial<Pick<Fault, 'retryAfterMs' | 'details'>> = {},
): Fault {
  return {
    kind: toFaultKind(code),
    code,
    message,
    ...(more.retryAfterMs === undefined ? {} : { retryAfterMs: more.retryAfterMs }),
    details: { ...more.details, reason },
    // A message that is refused here has not reached a handler.
    begun: false,
  }
}

export function readMeshRefusalReason({ details }: Fault): string | undefined {
  const reason = details?.['reason']
  return typeof reason === 'string' ? reason : undefined
}
