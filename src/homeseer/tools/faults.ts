/**
 * Faults: the ten codes of the contract, and what HomeSeer's link says in their words.
 *
 * What to try next is filled in with the arguments of the call that failed wherever they are known.
 */
import type { Fault, FaultKind } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import { mayHomeseerHaveActed, type LinkFault } from '../wire/fault.ts'

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

export type Hs4Code = keyof typeof KINDS

/** A call worth making next, complete with arguments. */
export interface NextCall {
  readonly name: string
  readonly args?: JsonObject
}

/** `details` are shown; the other two become members of the envelope beside them. */
interface More {
  readonly details?: JsonObject
  readonly next?: readonly NextCall[]
  readonly fixHint?: string
}

/** Where a fault of this family carries what its envelope shows beside the details. */
export const NEXT_CALLS_KEY = 'suggestedNextToolCalls'
export const FIX_HINT_KEY = 'fixHint'

export function isHs4Code(code: string | undefined): code is Hs4Code {
  return code !== undefined && Object.hasOwn(KINDS, code)
}

/** A fault of the family. Without `next` and `fixHint` the envelope fills in what is usual for the code. */
export function hs4Fault(code: Hs4Code, message: string, { details, next, fixHint }: More = {}): Fault {
  const carried: JsonObject = {
    ...details,
    ...(next === undefined ? {} : { [NEXT_CALLS_KEY]: next.map(nextJson) }),
    ...(fixHint === undefined ? {} : { [FIX_HINT_KEY]: fixHint }),
  }
  return { kind: KINDS[code], code, message, ...(Object.keys(carried).length === 0 ? {} : { details: carried }) }
}

/** Without `args` where there are none: the contract has them optional. */
export function nextJson({ name, args }: NextCall): JsonObject {
  return args === undefined ? { name } : { name, args }
}

/** A question that failed: nothing was changed by it. */
export function homeseerReadFault(fault: LinkFault, what: string): Fault {
  const details = { link: fault.kind }
  switch (fault.kind) {
    case 'unauthorised':
      return hs4Fault('AUTH', `HomeSeer refused the login while ${what}.`, { details })
    case 'unreachable':
      return hs4Fault('NETWORK', `HomeSeer cannot be reached (${fault.code}) while ${what}.`, { details })
    case 'timed-out':
      return hs4Fault('TIMEOUT', `HomeSeer did not answer within ${fault.afterMs} ms while ${what}.`, { details })
    // Nobody waits any more; the contract has no code for it, and its TIMEOUT comes closest.
    case 'aborted':
      return { kind: 'cancelled', code: 'TIMEOUT', message: `The call was withdrawn while ${what}.`, details }
    case 'json-disabled':
      return hs4Fault('HS4_ERROR', `HomeSeer's JSON interface is switched off.`, {
        details,
        fixHint: 'Switch on “Enable Control with JSON” under Setup > Network in HomeSeer.',
      })
    case 'http-status':
      return statusFault(fault.status, what)
    case 'refused':
      return fault.reason === 'unsupported'
        ? hs4Fault('UNSUPPORTED_ON_TARGET', `This HomeSeer does not know how: ${fault.text}`, { details })
        : hs4Fault('HS4_ERROR', `HomeSeer refused while ${what}: ${fault.text}`, { details })
    case 'too-large':
      return hs4Fault('HS4_ERROR', `HomeSeer's answer is longer than ${fault.limitBytes} bytes.`, { details })
    default:
      return hs4Fault('HS4_ERROR', `HomeSeer's answer cannot be read: ${fault.detail}.`, { details })
  }
}

/** A change that failed. Where HomeSeer may have done it all the same, nobody may hear that it did not. */
export function homeseerWriteFault(fault: LinkFault, what: string, next?: readonly NextCall[]): Fault {
  if (!mayHomeseerHaveActed(fault)) return homeseerReadFault(fault, what)
  return hs4Fault(
    'UNKNOWN',
    `HomeSeer was told and no answer says whether it acted (${fault.kind}) while ${what}. Look before trying again.`,
    { details: { link: fault.kind }, ...(next === undefined ? {} : { next }) },
  )
}

function statusFault(status: number, what: string): Fault {
  const details = { link: 'http-status', statusCode: status }
  // A page that is not there: an older HomeSeer, or a plug-in's page without the plug-in.
  if (status === 404) return hs4Fault('UNSUPPORTED_ON_TARGET', `This HomeSeer has no page for ${what}.`, { details })
  // Not followed, because it would carry the login along; most often to https, or to the page where one logs in.
  if (status >= 300 && status < 400)
    return hs4Fault('HS4_ERROR', `HomeSeer sends elsewhere (status ${status}) while ${what}.`, {
      details,
      fixHint: 'Check homeseer.url in the configuration (https?), and user and password of HomeSeer.',
    })
  const code = status >= 500 ? 'HS4_ERROR' : 'BAD_REQUEST'
  return hs4Fault(code, `HomeSeer answered status ${status} while ${what}.`, { details })
}

/** For arguments that only the house can judge; looks like what the schema would have said. */
export function homeseerArgumentFault(argument: string, message: string, more: More = {}): Fault {
  const issues = [{ path: [argument], message, code: 'custom' }]
  return hs4Fault('BAD_REQUEST', `${argument}: ${message}`, { ...more, details: { issues, ...more.details } })
}
