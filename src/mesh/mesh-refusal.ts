/**
 * Mesh refusal: why a node does not let a message in, in spec 2's codes, with a reason that a program can tell apart.
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
    // Whoever is refused here has not come as far as a handler.
    begun: false,
  }
}

export function readMeshRefusalReason({ details }: Fault): string | undefined {
  const reason = details?.['reason']
  return typeof reason === 'string' ? reason : undefined
}
