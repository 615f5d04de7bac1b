/**
 * Grants store: approvals for future calls within bounds; each use is counted in the same transaction as the call that
 * it allows. A grant that was given under other rules, or for a tool that has changed since, covers nothing.
 */
import type { Caller } from '../bus/call.ts'
import { toAccountKeyFromCallerKey, toCallerKey, parsePeerCallerKey } from '../bus/caller.ts'
import type { Fault } from '../core/fault.ts'
import { newUlid } from '../core/ids.ts'
import { isJsonObject } from '../core/json.ts'
import type { JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { readArgumentLeafHashes } from './approval-texts.ts'
import { explainApproverRefusal, APPROVAL_CLOCK_SLACK_MS, isOutsideValidityPeriod } from './approval.ts'
import type { Approval } from './approval.ts'
import { computeJsonSha256 } from './call-binding.ts'
import type { CallBinding, ArgumentLeafHashes } from './call-binding.ts'
import { isCallCoveredByGrant, omitLoosenedArguments, explainGrantRequestFlaw, toJsonPointer } from './grant.ts'
import type { Grant, GrantRequest } from './grant.ts'
import { GRANT_USED_UP_REASON } from './grant-state.ts'
import type { GrantRecord } from './grant-state.ts'
import type { GuardState } from './guard-state.ts'
import { readEntryBodyFields } from '../ledger/projection-log.ts'
import type { ProjectionLogWriter } from '../ledger/projection-log.ts'
import { formatIsoTime } from '../toolbox/iso-time.ts'
import type { GuardTransactionRunner, GuardTransaction } from './guard-transaction-store.ts'

/** What faces and the CLI use. */
export interface GrantService {
  /** Lists the grants in force, newest first; `all` adds those that ended. */
  readonly list: (which?: 'in-force' | 'all') => readonly Grant[]
  readonly end: (id: string, by: Caller) => Promise<Result<void, Fault>>
}

/** What the guard itself uses inside its transactions. */
export interface GrantStore extends GrantService {
  /** Returns the id of the new grant. */
  readonly createIn: (
    transaction: GuardTransaction,
    request: { readonly grant: GrantRequest; readonly approval: Approval; readonly by: Caller },
  ) => Result<string, Fault>
  /** Finds a grant in force that covers the call. */
  readonly findIn: (
    transaction: GuardTransaction,
    call: { readonly binding: CallBinding; readonly body: JsonObject; readonly leaves: ArgumentLeafHashes | undefined },
  ) => string | undefined
  /** Throws when the grant is used up: the whole transaction is undone. */
  readonly useIn: (transaction: GuardTransaction, id: string, call: { readonly traceId: string }) => void
  /** Adds one use again, until the grant would have lapsed, for a call that used it and was not tried. */
  readonly giveBackIn: (transaction: GuardTransaction, id: string, call: { readonly traceId: string }) => void
  /** Ends the grant together with the approval that it came from; a grant that has ended already stays as it is. */
  readonly takeBackIn: (transaction: GuardTransaction, id: string, by: Caller) => void
  /** Ends grants that have lapsed or were given under other rules. */
  readonly sweepIn: (transaction: GuardTransaction) => number
  /** Ends all grants of a caller whose credential has ended. */
  readonly forgetIn: (transaction: GuardTransaction, principal: string) => void
}

const MAX_IN_FORCE = 500
const MAX_LIST = 500

export function createGrantStore(options: {
  readonly state: GuardState
  readonly log: Pick<ProjectionLogWriter, 'body'>
  readonly transact: GuardTransactionRunner
  readonly policyVersion: string
}): GrantStore {
  const { state, log, transact, policyVersion } = options

  /** The hashes of the grant's arguments; `undefined` once they were erased, so that the grant covers nothing. */
  const frameOfGrant = ({ createdSeq }: GrantRecord): ArgumentLeafHashes | undefined => {
    const frame = readEntryBodyFields(log, createdSeq)?.['frame']
    return isJsonObject(frame) ? (frame as ArgumentLeafHashes) : undefined
  }
  const shown = (record: GrantRecord): Grant => {
    const { createdSeq: _, usedBy: __, ...grant } = record
    return { ...grant, frame: frameOfGrant(record) ?? {} }
  }
  const inForce = (): readonly GrantRecord[] =>
    [...state.grants.values()].filter(({ endedAtMs }) => endedAtMs === undefined)

  function endIn({ record }: GuardTransaction, id: string, because: string, details: JsonObject = {}): void {
    record({ kind: 'grant.ended', grant: id, because, ...details })
  }

  function endedByIn(transaction: GuardTransaction, grant: GrantRecord, caller: Caller): void {
    const { id, principal, tool, target = 'any' } = grant
    const by = toCallerKey(caller)
    endIn(transaction, id, `ended by ${by}`, { by, principal, tool, target })
  }

  const store: GrantStore = {
    list: (which = 'in-force') =>
      (which === 'all' ? [...state.grants.values()] : inForce())
        .toSorted((left, right) => (left.id < right.id ? 1 : -1))
        .slice(0, MAX_LIST)
        .map(shown),

    end: (id, by) =>
      transact((transaction): Result<void, Fault> => {
        const grant = state.grants.get(id)
        if (grant === undefined || grant.endedAtMs !== undefined)
          return fail({ kind: 'not-found', message: `There is no grant ${id} in force.` })
        const flaw = explainApproverRefusal(by, { principal: grant.principal, target: grant.target })
        if (flaw !== undefined) return fail(flaw)
        endedByIn(transaction, grant, by)
        return ok(undefined)
      }),

    createIn: ({ nowMs, record }, { grant, approval, by: approver }) => {
      const scope = grant.target === 'same' ? approval.binding.target : undefined
      // An approver cannot grant more than they may approve one by one.
      const excess = explainApproverRefusal(approver, {
        principal: approval.binding.principal,
        target: scope,
        effect: approval.shown.effect,
      })
      if (excess !== undefined) return fail(excess)
      const requester = approval.binding.principal
      if (grant.caller === 'node' && parsePeerCallerKey(requester) === undefined)
        return fail(invalid('no other node asked'))
      const leaves = readArgumentLeafHashes(state, approval.id, log)
      if (leaves === undefined) return fail(invalid('the call has too many arguments for a grant'))
      const flaw = explainGrantRequestFlaw(grant, leaves)
      if (flaw !== undefined) return fail(invalid(flaw))
      if (inForce().length >= MAX_IN_FORCE)
        return fail({ kind: 'busy', message: `This node keeps ${MAX_IN_FORCE} grants; end some first.` })
      const id = newUlid(nowMs)
      const { tool, definitionHash } = approval.binding
      const bounds = Object.fromEntries(
        Object.entries(grant.bounds).map(([name, span]) => [toJsonPointer(name), { ...span }]),
      )
      const free = grant.free.map(toJsonPointer)
      const frame = omitLoosenedArguments(leaves, [...Object.keys(bounds), ...free])
      record(
        {
          kind: 'grant.created',
          grant: id,
          approval: approval.id,
          by: toCallerKey(approver),
          principal: grant.caller === 'node' ? toAccountKeyFromCallerKey(requester) : requester,
          tool,
          target: scope ?? 'any',
          definition_hash: definitionHash,
          policy_version: policyVersion,
          frame_hash: computeJsonSha256(frame),
          bounds,
          free,
          max_uses: grant.maxUses,
          expires_at: formatIsoTime(nowMs + grant.durationMs),
        },
        { frame },
      )
      return ok(id)
    },

    findIn: ({ nowMs }, { binding, body, leaves }) => {
      const { principal, tool, target, definitionHash } = binding
      const account = toAccountKeyFromCallerKey(principal)
      return inForce()
        .filter((grant) => (grant.principal === principal || grant.principal === account) && grant.tool === tool)
        .toSorted(ownFirst)
        .find((grant) => {
          if (grant.uses >= grant.maxUses || grant.definitionHash !== definitionHash) return false
          if (grant.policyVersion !== binding.policyVersion) return false
          if (isOutsideValidityPeriod({ fromMs: grant.grantedAtMs, untilMs: grant.expiresAtMs }, nowMs)) return false
          const frame = frameOfGrant(grant)
          return frame !== undefined && isCallCoveredByGrant({ ...grant, frame }, { target, body, leaves })
        })?.id
    },

    useIn: ({ record }, id, { traceId }) => {
      record({ kind: 'grant.used', grant: id, trace_id: traceId, use: (state.grants.get(id)?.uses ?? 0) + 1 })
    },

    giveBackIn: ({ record }, id, { traceId }) => {
      const grant = state.grants.get(id)
      if (grant?.usedBy.includes(traceId) !== true) return
      // The grant may have ended meanwhile: because this use was its last one, or for a reason that still holds.
      const because = grant.endedBecause === GRANT_USED_UP_REASON ? null : (grant.endedBecause ?? null)
      record({ kind: 'grant.given-back', grant: id, trace_id: traceId, uses: grant.uses - 1, because })
    },

    takeBackIn: (transaction, id, by) => {
      const grant = state.grants.get(id)
      if (grant !== undefined && grant.endedAtMs === undefined) endedByIn(transaction, grant, by)
    },

    sweepIn: (transaction) => {
      const { nowMs } = transaction
      const over = inForce().filter(
        (grant) =>
          grant.expiresAtMs <= nowMs ||
          grant.grantedAtMs > nowMs + APPROVAL_CLOCK_SLACK_MS ||
          grant.uses >= grant.maxUses ||
          grant.policyVersion !== policyVersion,
      )
      for (const grant of over) endIn(transaction, grant.id, endOf(grant, policyVersion))
      return over.length
    },

    forgetIn: (transaction, principal) => {
      for (const grant of inForce())
        if (grant.principal === principal) endIn(transaction, grant.id, 'the credential is gone')
    },
  }
  return store
}

/**
 * Of several grants, one to the caller itself comes before one to its node, which covers every caller it speaks for.
 * Then the oldest comes first.
 */
function ownFirst(left: GrantRecord, right: GrantRecord): number {
  if (left.principal !== right.principal) return left.principal < right.principal ? 1 : -1
  return left.id < right.id ? -1 : 1
}

function endOf(grant: GrantRecord, policyVersion: string): string {
  if (grant.policyVersion !== policyVersion) return 'the rules have changed'
  return grant.uses >= grant.maxUses ? GRANT_USED_UP_REASON : 'it has expired'
}

function invalid(flaw: string): Fault {
  return { kind: 'invalid-arguments', message: `Not a grant: ${flaw}.` }
}
