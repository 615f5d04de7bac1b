/**
 * Grants store: bounded yeses for calls to come, each use counted in the same step as what it lets through.
 *
 * A grant given under other rules, or for a tool that has changed since, covers nothing.
 */
import type { Caller } from '../bus/call.ts'
import { readCallerAccount, callerKey, parsePeerCallerKey } from '../bus/caller.ts'
import type { Fault } from '../core/fault.ts'
import { newUlid } from '../core/ids.ts'
import { isJsonObject } from '../core/json.ts'
import type { JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { readLeafHashes } from './approvals-store.ts'
import { refuseApprover, APPROVAL_CLOCK_SLACK_MS, isOutsideTimeSpan } from './approval.ts'
import type { Approval } from './approval.ts'
import { sha256OfJson } from './binding.ts'
import type { CallBinding, LeafHashes } from './binding.ts'
import { grantCovers, selectFixedArguments, explainGrantFlaw, toJsonPointer } from './grant.ts'
import type { Grant, GrantRequest } from './grant.ts'
import { GRANT_USED_UP_REASON } from './grant-state.ts'
import type { GrantRecord } from './grant-state.ts'
import type { GuardState } from './guard-state.ts'
import { formatEntryTime, readEntryWords } from '../ledger/state-log.ts'
import type { ProjectionLog } from '../ledger/state-log.ts'
import type { TransactionRunner, Transaction } from './transaction-store.ts'

/** What faces and the CLI use. */
export interface Grants {
  /** Those in force; `all` adds those that ended. Newest first. */
  readonly list: (which?: 'in-force' | 'all') => readonly Grant[]
  readonly end: (id: string, by: Caller) => Promise<Result<void, Fault>>
}

/** What the guard itself uses, inside its transactions. */
export interface GrantStore extends Grants {
  /** The id of the new grant. */
  readonly createIn: (
    transaction: Transaction,
    request: { readonly grant: GrantRequest; readonly approval: Approval; readonly by: Caller },
  ) => Result<string, Fault>
  /** A grant in force that covers the call. */
  readonly findIn: (
    transaction: Transaction,
    call: { readonly binding: CallBinding; readonly body: JsonObject; readonly leaves: LeafHashes | undefined },
  ) => string | undefined
  /** Throws when the grant is used up: the whole step is undone. */
  readonly useIn: (transaction: Transaction, id: string, call: { readonly traceId: string }) => void
  /** For a call that used it and was not tried: one use more, until it would have lapsed anyway. */
  readonly giveBackIn: (transaction: Transaction, id: string, call: { readonly traceId: string }) => void
  /** With the yes that it came from. One that has ended already stays as it is. */
  readonly takeBackIn: (transaction: Transaction, id: string, by: Caller) => void
  /** Ends what has lapsed or was given under other rules. */
  readonly sweepIn: (transaction: Transaction) => number
  /** Ends everything of a caller whose credential is gone. */
  readonly forgetIn: (transaction: Transaction, principal: string) => void
}

const MAX_IN_FORCE = 500
const MAX_LIST = 500

export function createGrants(options: {
  readonly state: GuardState
  readonly log: Pick<ProjectionLog, 'body'>
  readonly transact: TransactionRunner
  readonly policyVersion: string
}): GrantStore {
  const { state, log, transact, policyVersion } = options

  /** `undefined` once the hashes of its arguments were erased: then it covers nothing. */
  const frameOfGrant = ({ createdSeq }: GrantRecord): LeafHashes | undefined => {
    const frame = readEntryWords(log, createdSeq)?.['frame']
    return isJsonObject(frame) ? (frame as LeafHashes) : undefined
  }
  const shown = (record: GrantRecord): Grant => {
    const { createdSeq: _, usedBy: __, ...grant } = record
    return { ...grant, frame: frameOfGrant(record) ?? {} }
  }
  const inForce = (): readonly GrantRecord[] =>
    [...state.grants.values()].filter(({ endedAtMs }) => endedAtMs === undefined)

  function endIn({ record }: Transaction, id: string, because: string, said: JsonObject = {}): void {
    record({ kind: 'grant.ended', grant: id, because, ...said })
  }

  function endedByIn(transaction: Transaction, grant: GrantRecord, caller: Caller): void {
    const { id, principal, tool, target = 'any' } = grant
    const by = callerKey(caller)
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
        const flaw = refuseApprover(by, { principal: grant.principal, target: grant.target })
        if (flaw !== undefined) return fail(flaw)
        endedByIn(transaction, grant, by)
        return ok(undefined)
      }),

    createIn: ({ nowMs, record }, { grant, approval, by: approver }) => {
      const scope = grant.target === 'same' ? approval.binding.target : undefined
      // Nobody gives away more than they may decide about one by one.
      const excess = refuseApprover(approver, {
        principal: approval.binding.principal,
        target: scope,
        effect: approval.shown.effect,
      })
      if (excess !== undefined) return fail(excess)
      const asker = approval.binding.principal
      if (grant.caller === 'node' && parsePeerCallerKey(asker) === undefined)
        return fail(invalid('no other node asked'))
      const leaves = readLeafHashes(state, approval.id, log)
      if (leaves === undefined) return fail(invalid('the call has too many arguments for a grant'))
      const flaw = explainGrantFlaw(grant, leaves)
      if (flaw !== undefined) return fail(invalid(flaw))
      if (inForce().length >= MAX_IN_FORCE)
        return fail({ kind: 'busy', message: `This node keeps ${MAX_IN_FORCE} grants; end some first.` })
      const id = newUlid(nowMs)
      const { tool, definitionHash } = approval.binding
      const bounds = Object.fromEntries(
        Object.entries(grant.bounds).map(([name, span]) => [toJsonPointer(name), { ...span }]),
      )
      const free = grant.free.map(toJsonPointer)
      const frame = selectFixedArguments(leaves, [...Object.keys(bounds), ...free])
      record(
        {
          kind: 'grant.created',
          grant: id,
          approval: approval.id,
          by: callerKey(approver),
          principal: grant.caller === 'node' ? readCallerAccount(asker) : asker,
          tool,
          target: scope ?? 'any',
          definition_hash: definitionHash,
          policy_version: policyVersion,
          frame_hash: sha256OfJson(frame),
          bounds,
          free,
          max_uses: grant.maxUses,
          expires_at: formatEntryTime(nowMs + grant.durationMs),
        },
        { frame },
      )
      return ok(id)
    },

    findIn: ({ nowMs }, { binding, body, leaves }) => {
      const { principal, tool, target, definitionHash } = binding
      const account = readCallerAccount(principal)
      return inForce()
        .filter((grant) => (grant.principal === principal || grant.principal === account) && grant.tool === tool)
        .toSorted(ownFirst)
        .find((grant) => {
          if (grant.uses >= grant.maxUses || grant.definitionHash !== definitionHash) return false
          if (grant.policyVersion !== binding.policyVersion) return false
          if (isOutsideTimeSpan({ fromMs: grant.grantedAtMs, untilMs: grant.expiresAtMs }, nowMs)) return false
          const frame = frameOfGrant(grant)
          return frame !== undefined && grantCovers({ ...grant, frame }, { target, body, leaves })
        })?.id
    },

    useIn: ({ record }, id, { traceId }) => {
      record({ kind: 'grant.used', grant: id, trace_id: traceId, use: (state.grants.get(id)?.uses ?? 0) + 1 })
    },

    giveBackIn: ({ record }, id, { traceId }) => {
      const grant = state.grants.get(id)
      if (grant?.usedBy.includes(traceId) !== true) return
      // It may have ended meanwhile: because this very use was its last one, or for a reason that holds all the same.
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

/** One to a node is for everybody it speaks for; their own names are longer and come first. Then the oldest. */
function ownFirst(left: GrantRecord, right: GrantRecord): number {
  if (left.principal !== right.principal) return left.principal < right.principal ? 1 : -1
  return left.id < right.id ? -1 : 1
}

function endOf(grant: GrantRecord, policyVersion: string): string {
  if (grant.policyVersion !== policyVersion) return 'the rules have changed'
  return grant.uses >= grant.maxUses ? GRANT_USED_UP_REASON : 'its time is over'
}

function invalid(flaw: string): Fault {
  return { kind: 'invalid-arguments', message: `Not a grant: ${flaw}.` }
}
