/**
 * Grant state: every grant according to the log: created with an approval, every use is counted, and the grant ends
 * with its last use or its time.
 *
 *   grant.created ─▶ grant.used, grant.given-back ─▶ grant.ended
 *
 * The body of the entry `createdSeq` lists the arguments that must not change.
 *
 * Pure, but for the state that it is given.
 */
import { toAccountKeyFromCallerKey } from '../bus/caller.ts'
import { isJsonObject } from '../core/json.ts'
import type { LedgerEntry } from '../ledger/entry.ts'
import { readEntryTime, readEntryNumberField, readEntryTextField, readEntryTimeField } from '../ledger/entry.ts'
import type { EntryHandler } from '../ledger/projection.ts'
import type { GrantArgumentBounds, Grant } from './grant.ts'
import type { GuardState } from './guard-state.ts'
import { findRoleOfPrincipalAt } from './principal-state.ts'

export interface GrantRecord extends Omit<Grant, 'frame'> {
  readonly createdSeq: number
  /** The calls that used it and did not give it back. */
  readonly usedBy: readonly string[]
}

export const GRANT_USED_UP_REASON = 'used up'
const MAX_STORED_GRANTS = 1_500

export const grantEntryHandlers: Readonly<Record<string, EntryHandler<GuardState>>> = {
  'grant.created': (state, entry) => {
    const grant = createdGrant(entry)
    if (grant === undefined) return 'a field that such an entry needs is missing or wrong'
    if (state.grants.has(grant.id)) return `there was a grant ${grant.id} before`
    const { id, approvalId, grantedBy } = grant
    const approval = state.approvals.get(approvalId)
    // The grant is created in the same transaction as its approval, and before it.
    if (approval?.state !== 'requested') return `grant ${id} comes from no open question`
    const { binding } = approval
    if (
      toAccountKeyFromCallerKey(binding.principal) !== toAccountKeyFromCallerKey(grant.principal) ||
      binding.tool !== grant.tool
    )
      return `grant ${id} is for another caller or tool than was asked about`
    if (grantedBy === binding.principal) return `${grantedBy} gave a grant to itself`
    const role = findRoleOfPrincipalAt(state, grantedBy, readEntryTime(entry))
    if (role !== 'approver' && role !== 'admin') return `${grantedBy} was not an approver at that time`
    state.grants.dropOldest(MAX_STORED_GRANTS, ({ endedAtMs }) => endedAtMs !== undefined)
    state.grants.set(id, grant)
    return undefined
  },

  'grant.used': (state, entry) => {
    const grant = inForce(state, entry)
    if (grant === undefined) return NOT_IN_FORCE
    const [use, trace] = [readEntryNumberField(entry, 'use'), readEntryTextField(entry, 'trace_id')]
    if (readEntryTime(entry) >= grant.expiresAtMs) return `grant ${grant.id} had lapsed`
    if (grant.uses >= grant.maxUses || use !== grant.uses + 1)
      return `grant ${grant.id} was used ${grant.uses} of ${grant.maxUses} times, and this is not the next`
    if (trace === undefined) return 'it does not say which call used it'
    state.grants.set(grant.id, { ...grant, uses: use, usedBy: [...grant.usedBy, trace] })
    return undefined
  },

  'grant.given-back': (state, entry) => {
    const grant = known(state, entry)
    if (grant === undefined) return NOT_IN_FORCE
    const at = grant.usedBy.indexOf(readEntryTextField(entry, 'trace_id') ?? '')
    if (at < 0) return `that call did not use grant ${grant.id}`
    const wasUsedUp = grant.endedBecause === GRANT_USED_UP_REASON
    state.grants.set(grant.id, {
      ...grant,
      uses: grant.uses - 1,
      usedBy: grant.usedBy.toSpliced(at, 1),
      // Giving a use back revives a grant that was used up; one that ended for another reason stays ended.
      ...(wasUsedUp ? { endedAtMs: undefined, endedBecause: undefined } : {}),
    })
    return undefined
  },

  'grant.ended': (state, entry) => {
    const grant = inForce(state, entry)
    if (grant === undefined) return NOT_IN_FORCE
    const endedBecause = readEntryTextField(entry, 'because') ?? 'no reason recorded'
    state.grants.set(grant.id, { ...grant, endedAtMs: readEntryTime(entry), endedBecause })
    return undefined
  },
}

function createdGrant(entry: LedgerEntry): GrantRecord | undefined {
  const text = (field: string): string | undefined => readEntryTextField(entry, field)
  const [id, approvalId, grantedBy, principal] = [text('grant'), text('approval'), text('by'), text('principal')]
  const [tool, target, definitionHash, policyVersion] = [
    text('tool'),
    text('target'),
    text('definition_hash'),
    text('policy_version'),
  ]
  const [maxUses, expiresAtMs] = [readEntryNumberField(entry, 'max_uses'), readEntryTimeField(entry, 'expires_at')]
  if (id === undefined || approvalId === undefined || grantedBy === undefined || principal === undefined)
    return undefined
  if (tool === undefined || definitionHash === undefined || policyVersion === undefined) return undefined
  if (maxUses === undefined || expiresAtMs === undefined || target === undefined) return undefined
  const { bounds, free } = entry
  if (!isJsonObject(bounds) || !Array.isArray(free)) return undefined
  return {
    id,
    principal,
    tool,
    target: target === 'any' ? undefined : target,
    definitionHash,
    policyVersion,
    bounds: bounds as Readonly<Record<string, GrantArgumentBounds>>,
    free: free.map(String),
    approvalId,
    grantedBy,
    grantedAtMs: readEntryTime(entry),
    expiresAtMs,
    maxUses,
    uses: 0,
    endedAtMs: undefined,
    endedBecause: undefined,
    createdSeq: entry.seq,
    usedBy: [],
  }
}

function known({ grants }: GuardState, entry: LedgerEntry): GrantRecord | undefined {
  return grants.get(readEntryTextField(entry, 'grant') ?? '')
}

function inForce(state: GuardState, entry: LedgerEntry): GrantRecord | undefined {
  const grant = known(state, entry)
  return grant?.endedAtMs === undefined ? grant : undefined
}

const NOT_IN_FORCE = 'there is no such grant in force'
