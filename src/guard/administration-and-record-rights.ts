/**
 * Administration and record rights: what a credential may do beside calling tools: administer, stop the house,
 * approve, and read records.
 *
 * Restrictions compose: whatever is created, approved, stopped or read through a credential is at most what that
 * credential may do itself. A credential that is restricted to devices or profiles does not administer the house.
 */
import type { Caller, CredentialRestrictions } from '../bus/call.ts'
import { toCallerKey } from '../bus/caller.ts'
import type { Effect } from '../bus/capability.ts'
import type { Fault } from '../core/fault.ts'
import { createRuleRefusalFault } from './guard-faults.ts'
import { matchesAnyPattern } from './name-pattern.ts'

type Principal = Caller & { readonly kind: 'principal' }

export function hasRestrictedCredential(caller: Caller): boolean {
  return caller.kind === 'principal' && caller.restrictions !== undefined
}

/** Whether the credential's restrictions allow an effect. */
function coversEffect({ restrictions }: Principal, effect: Effect): boolean {
  return restrictions?.effects === undefined || restrictions.effects.includes(effect)
}

/**
 * Whether the credential is restricted to some devices or tools, and may therefore do nothing that concerns the whole
 * house.
 */
function isForPartOfHouse({ restrictions }: Principal): boolean {
  return restrictions?.devices !== undefined || restrictions?.profiles !== undefined
}

/** Why this caller may not administer the house as a whole, or `undefined`. */
export function explainAdministrationRefusal(by: Caller): Fault | undefined {
  const role = adminFlaw(by)
  if (role !== undefined) return role
  if (by.kind !== 'principal' || !isForPartOfHouse(by)) return undefined
  return createRuleRefusalFault(
    'token-narrowed',
    'This credential is narrowed to parts of the house, and this concerns all of it.',
  )
}

/** Why this caller may not create a console link, whose session would have no restrictions; or `undefined`. */
export function explainConsoleLinkRefusal(by: Caller): Fault | undefined {
  const flaw = explainAdministrationRefusal(by)
  if (flaw !== undefined || by.kind !== 'principal' || by.restrictions?.effects === undefined) return flaw
  return createRuleRefusalFault(
    'token-narrowed',
    'This credential is narrowed, and a sign-in at the console would not be.',
  )
}

/** Why this caller may not create, replace or revoke a token with these restrictions, or `undefined`. */
export function explainTokenAdministrationRefusal(
  by: Caller,
  token: CredentialRestrictions | undefined,
): Fault | undefined {
  const role = adminFlaw(by)
  if (role !== undefined || by.kind !== 'principal') return role
  const own = by.restrictions ?? {}
  const exceeds =
    isBeyond(token?.effects, own.effects, (effect, effects) => effects.includes(effect)) ||
    isBeyond(token?.profiles, own.profiles, (profile, profiles) => profiles.includes(profile)) ||
    isBeyond(token?.devices, own.devices, isDeviceWithin)
  if (!exceeds) return undefined
  return createRuleRefusalFault(
    'token-narrowed',
    'This credential is narrowed: a token of its making is narrowed at least as much.',
  )
}

/** Why this caller may not stop everything, or `undefined`. Stopping is for those who act, approve or administer. */
export function explainEmergencyStopActivationRefusal(by: Caller): Fault | undefined {
  if (by.kind === 'service') return undefined
  if (by.kind === 'peer' || by.role === 'observer')
    return createRuleRefusalFault('role', 'A caller that may neither act nor approve does not stop others.')
  const acts = by.restrictions?.effects?.some((effect) => effect !== 'reads' && effect !== 'records') ?? true
  if (acts && !isForPartOfHouse(by)) return undefined
  return createRuleRefusalFault(
    'token-narrowed',
    'This credential is narrowed to less than the house that a stop would stop.',
  )
}

/** Whether a caller may read the status of the house and the node. */
export function mayViewStatus(caller: Caller): boolean {
  return caller.kind !== 'principal' || coversEffect(caller, 'reads')
}

/** Whether a caller may add to the node's own records, such as having a checkpoint of the whole ledger signed. */
export function mayAddToNodesOwnRecords(caller: Caller): boolean {
  if (caller.kind !== 'principal') return caller.kind === 'service'
  const mayAct = caller.role === 'agent' || caller.role === 'admin'
  return mayAct && coversEffect(caller, 'records') && !isForPartOfHouse(caller)
}

/** The facts about a call, an approval or a change that decide who may read it. */
export interface RecordAccessFacts {
  /** The key of the caller that made it. */
  readonly principal: string
  readonly effect: Effect | undefined
  readonly target: string | undefined
  /**
   * Whether the tool is in one of the profiles that the reader's credential is restricted to; true without such a
   * restriction.
   */
  readonly inProfile: boolean
}

/**
 * Whether a caller may read a record: its own always; others' as far as its credential covers them. An agent reads what
 * was done or tried in the house, but not what other callers read and recorded.
 */
export function mayReadRecord(caller: Caller, { principal, effect, target, inProfile }: RecordAccessFacts): boolean {
  if (caller.kind !== 'principal' || toCallerKey(caller) === principal) return true
  if (!mayViewStatus(caller) || !inProfile) return false
  const devices = caller.restrictions?.devices
  if (devices !== undefined && (target === undefined || !matchesAnyPattern(devices, target))) return false
  const isPrivate = target === undefined && (effect === undefined || effect === 'reads' || effect === 'records')
  return caller.role !== 'agent' || !isPrivate
}

function adminFlaw(by: Caller): Fault | undefined {
  if (by.kind !== 'principal' || by.role !== 'admin') return createRuleRefusalFault('role', 'The role admin is needed.')
  return coversEffect(by, 'admin')
    ? undefined
    : createRuleRefusalFault(
        'token-effects',
        `This credential is narrowed to the effects ${by.restrictions?.effects?.join(', ')}.`,
      )
}

/** A missing list allows everything, so it lies only within another missing list. */
function isBeyond<Name>(
  wanted: readonly Name[] | undefined,
  own: readonly Name[] | undefined,
  isWithin: (name: Name, own: readonly Name[]) => boolean,
): boolean {
  if (own === undefined) return false
  return wanted === undefined || wanted.some((name) => !isWithin(name, own))
}

/** A pattern lies within another when everything that it matches also matches the other. */
function isDeviceWithin(device: string, own: readonly string[]): boolean {
  const prefix = device.endsWith('*') ? device.slice(0, -1) : undefined
  if (prefix === undefined) return matchesAnyPattern(own, device)
  return own.some((pattern) => pattern.endsWith('*') && prefix.startsWith(pattern.slice(0, -1)))
}
