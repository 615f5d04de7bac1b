/**
 * Faults: the ten codes of the contract, and their mapping from faults of HomeSeer's link.
 *
 * Suggested calls have the arguments of the failed call where they are known.
 */
import type { Fault, FaultKind } from '../../core/fault.ts'
import { omitUndefined, type JsonObject } from '../../core/json.ts'
import { mayHomeseerHaveActed, type HomeseerLinkFault } from '../wire/link-fault.ts'

/** Spec 4's codes and what each of them means to the guard, the limits and the metrics. */
const KINDS = {
  AUTH: 'failed',
  NETWORK: 'offline',
  BAD_REQUEST: 'invalid-arguments',
  NOT_FOUND: 'not-found',
  HS4_ERROR: 'failed',
  POLICY_DENY: 'not-permitted',
  TIMEOUT: 'timed-out',
  UNSUPPORTED_ON_TARGET: 'unsupported',
  INTERNAL: 'internal',
  UNKNOWN: 'unknown-outcome',
} as const satisfies Record<string, FaultKind>

export type Hs4ErrorCode = keyof typeof KINDS

/** A suggested next call, complete with arguments. */
export interface SuggestedToolCall {
  readonly name: string
  readonly args?: JsonObject
}

/** `details` are shown; the other two become members of the envelope. */
interface More {
  readonly details?: JsonObject
  readonly next?: readonly SuggestedToolCall[]
  readonly fixHint?: string
}

/** The detail in which a fault of this family carries suggested calls for its envelope. */
export const SUGGESTED_CALLS_FIELD = 'suggestedNextToolCalls'
export const FIX_HINT_FIELD = 'fixHint'

export function isHs4ErrorCode(code: string | undefined): code is Hs4ErrorCode {
  return code !== undefined && Object.hasOwn(KINDS, code)
}

/** A fault of the family. Without `next` and `fixHint` the envelope fills in what is usual for the code. */
export function createHs4Fault(code: Hs4ErrorCode, message: string, more: More = {}): Fault {
  const details = toDetails(more)
  return { kind: KINDS[code], code, message, ...(Object.keys(details).length === 0 ? {} : { details }) }
}

/** The fault with additional details, which replace those with the same names. */
export function extendHs4Fault(fault: Fault, more: More): Fault {
  return { ...fault, details: { ...fault.details, ...toDetails(more) } }
}

function toDetails({ details, next, fixHint }: More): JsonObject {
  const calls = next?.map(toSuggestedCallJson)
  return { ...details, ...omitUndefined({ [SUGGESTED_CALLS_FIELD]: calls, [FIX_HINT_FIELD]: fixHint }) }
}

/** Leaves `args` out if there are none, because they are optional in the contract. */
export function toSuggestedCallJson({ name, args }: SuggestedToolCall): JsonObject {
  return omitUndefined({ name, args })
}

/** The fault for a failed read, which changed nothing. */
export function createHomeseerReadFault(fault: HomeseerLinkFault, what: string): Fault {
  const details = { link: fault.kind }
  switch (fault.kind) {
    case 'unauthorised':
      return createHs4Fault('AUTH', `HomeSeer refused the login while ${what}.`, { details })
    case 'unreachable':
      return createHs4Fault('NETWORK', `HomeSeer cannot be reached (${fault.code}) while ${what}.`, { details })
    case 'timed-out':
      return createHs4Fault('TIMEOUT', `HomeSeer did not answer within ${fault.afterMs} ms while ${what}.`, { details })
    // The caller has gone; the contract has no code for it, and its TIMEOUT comes closest.
    case 'aborted':
      return { kind: 'cancelled', code: 'TIMEOUT', message: `The call was withdrawn while ${what}.`, details }
    case 'json-disabled':
      return createHs4Fault('HS4_ERROR', `HomeSeer's JSON interface is switched off.`, {
        details,
        fixHint: 'Switch on “Enable Control with JSON” under Setup > Network in HomeSeer.',
      })
    case 'http-status':
      return statusFault(fault.status, what)
    case 'refused':
      return fault.reason === 'unsupported'
        ? createHs4Fault('UNSUPPORTED_ON_TARGET', `This HomeSeer does not know how: ${fault.text}`, { details })
        : createHs4Fault('HS4_ERROR', `HomeSeer refused while ${what}: ${fault.text}`, { details })
    case 'too-large':
      return createHs4Fault('HS4_ERROR', `HomeSeer's answer is longer than ${fault.limitBytes} bytes.`, { details })
    default:
      return createHs4Fault('HS4_ERROR', `HomeSeer's answer cannot be read: ${fault.detail}.`, { details })
  }
}

/** The fault for a failed change. If HomeSeer may have carried it out, the fault must not say that it did not. */
export function createHomeseerWriteFault(
  fault: HomeseerLinkFault,
  what: string,
  next?: readonly SuggestedToolCall[],
): Fault {
  if (!mayHomeseerHaveActed(fault)) return createHomeseerReadFault(fault, what)
  return createHs4Fault(
    'UNKNOWN',
    `HomeSeer may or may not have acted (${fault.kind}) while ${what}: the command was sent, but no answer came. Check the state before trying again.`,
    { details: { link: fault.kind }, ...omitUndefined({ next }) },
  )
}

function statusFault(status: number, what: string): Fault {
  const details = { link: 'http-status', statusCode: status }
  // A page that is not there: an older HomeSeer, or a plug-in's page without the plug-in.
  if (status === 404)
    return createHs4Fault('UNSUPPORTED_ON_TARGET', `This HomeSeer has no page for ${what}.`, { details })
  // Redirects are not followed, because they would carry the credentials along; they mostly lead to https or to a login
  // page.
  if (status >= 300 && status < 400)
    return createHs4Fault('HS4_ERROR', `HomeSeer redirects (status ${status}) while ${what}.`, {
      details,
      fixHint: 'Check homeseer.url in the configuration (https?), and user and password of HomeSeer.',
    })
  const code = status >= 500 ? 'HS4_ERROR' : 'BAD_REQUEST'
  return createHs4Fault(code, `HomeSeer answered status ${status} while ${what}.`, { details })
}

/** The fault for arguments that only the house can check; it looks like one of schema validation. */
export function createHomeseerArgumentFault(argument: string, message: string, more: More = {}): Fault {
  const issues = [{ path: [argument], message, code: 'custom' }]
  return createHs4Fault('BAD_REQUEST', `${argument}: ${message}`, { ...more, details: { issues, ...more.details } })
}
