/**
 * Link fault: every way in which a request to HomeSeer can fail without a bug in this program.
 *
 * No text in it comes from a URL, a header or a credential.
 */
import type { HomeseerReplyFault } from './http-exchange.ts'

export type HomeseerLinkFault =
  | HomeseerReplyFault
  /** `code` is the system's error code, such as ECONNREFUSED. */
  | { readonly kind: 'unreachable'; readonly code: string; readonly reached: boolean }
  | { readonly kind: 'timed-out'; readonly afterMs: number; readonly reached: boolean }
  | { readonly kind: 'aborted'; readonly reached: boolean }
  | { readonly kind: 'http-status'; readonly status: number }
  | { readonly kind: 'too-large'; readonly limitBytes: number }

/**
 * Whether HomeSeer may have carried out the request although no answer came. A write that failed like this has an
 * unknown outcome: it must not be sent again, and must not be reported as refused.
 */
export function mayHomeseerHaveActed(fault: HomeseerLinkFault): boolean {
  switch (fault.kind) {
    case 'unreachable':
    case 'timed-out':
    case 'aborted':
      return fault.reached
    case 'http-status':
      return fault.status >= 500
    case 'malformed':
    case 'too-large':
      return true
    default:
      return false
  }
}

/** Whether a request that changes nothing should be repeated. */
export function isTransientHomeseerFault(fault: HomeseerLinkFault): boolean {
  if (fault.kind === 'http-status') return fault.status >= 500
  return fault.kind === 'unreachable' || fault.kind === 'timed-out'
}

/** Whether a smaller question may be answered where this one was not. */
export function isWorthSmallerRequest({ kind }: HomeseerLinkFault): boolean {
  return kind === 'timed-out' || kind === 'too-large'
}
