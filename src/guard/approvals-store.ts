/**
 * Approvals store: the questions put to people, their answers, and the one call that each answer is good for.
 *
 * A question is asked once however often the call is repeated; a no holds until the question would have lapsed; the
 * number of open questions is bounded, so that a looping model cannot bury the approver.
 *
 * Does I/O.
 */
import type { Caller } from '../bus/call.ts'
import { accountOf, callerKey } from '../bus/caller-key.ts'
import type { Database } from '../core/database-store.ts'
import type { Fault } from '../core/fault.ts'
import { ulid } from '../core/ids.ts'
import type { JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { OF_ACCOUNT } from './account.ts'
import { approverFlaw, CLOCK_SLACK_MS, lapseOf, standingOf } from './approval.ts'
import type { Approval, ApproverRequest, ApprovalStandingWithNotes, OpenCall, ShownCall } from './approval.ts'
import { toApproval } from './approval-row.ts'
import type { ApprovalEvent, Approvals, ApprovalsConfig } from './approvals.ts'
import { sha256 } from './binding.ts'
import type { Binding, Leaves } from './binding.ts'
import { isReworded } from './grant.ts'
import type { GrantStore } from './grants-store.ts'
import { redactText } from './secret-text.ts'
import type { Transact, Transaction } from './transaction-store.ts'

/** What the guard itself uses, inside its transactions. */
export interface ApprovalStore extends Approvals {
  /** `leaves` are its arguments one by one: a no also holds where only the prose among them differs. */
  readonly standingIn: (
    transaction: Transaction,
    binding: Binding,
    leaves: Leaves | undefined,
  ) => ApprovalStandingWithNotes
  readonly requestIn: (
    transaction: Transaction,
    request: {
      readonly binding: Binding
      readonly shown: ShownCall
      readonly open: OpenCall
      readonly leaves: Leaves | undefined
    },
  ) => Result<Approval, Fault>
  /** The call was made again: after a restart only the caller still has what was kept in memory alone. */
  readonly remindIn: (transaction: Transaction, id: string, open: OpenCall) => void
  /** Throws when the approval is not there to be used: the whole step is undone. */
  readonly useIn: (transaction: Transaction, id: string, call: { readonly traceId: string }) => void
  /** For a call that used it and was not tried: the yes is good again, until it would have lapsed anyway. */
  readonly giveBackIn: (transaction: Transaction, id: string, call: { readonly traceId: string }) => void
  /** Closes what has lapsed or was given under other rules. */
  readonly sweepIn: (transaction: Transaction) => number
  /** Closes everything of a caller whose credential is gone. */
  readonly forgetIn: (transaction: Transaction, principal: string) => void
}

const MAX_LIST = 500
const MAX_REASON = 1_000
/** Of one exact call, how many past questions are looked at. */
const MAX_PAST = 20
/** Of one caller and tool, how many noes that still hold are looked through. */
const MAX_DENIALS = 200

export function createApprovals(options: {
  readonly database: Database
  readonly transact: Transact
  readonly config: ApprovalsConfig
  readonly policyVersion: string
  readonly grants: GrantStore
  readonly report: (error: unknown, message: string) => void
}): ApprovalStore {
  const { database, transact, config, policyVersion, grants, report } = options
  const listeners = new Set<(event: ApprovalEvent) => void>()
  /** Of open questions only, so there are no more than `maxOpen`. */
  const openCalls = new Map<string, OpenCall>()

  /** One state change: the row, the ledger and the listeners. */
  function announce(transaction: Transaction, id: string, fields: JsonObject, body?: JsonObject): Approval {
    const approval = readIn(transaction, id)
    if (approval === undefined) throw new Error(`approval ${id} is gone`)
    const kind = `approval.${approval.state}` as const
    const { binding } = approval
    transaction.record(
      { kind, approval: id, principal: binding.principal, tool: binding.tool, target: binding.target, ...fields },
      body,
    )
    transaction.afterwards(() => {
      if (approval.state !== 'requested') openCalls.delete(id)
      for (const listener of listeners) tell(listener, { kind, approval })
    })
    return approval
  }

  /** A listener that throws must not undo what is durable. */
  function tell(listener: (event: ApprovalEvent) => void, event: ApprovalEvent): void {
    try {
      listener(event)
    } catch (error) {
      report(error, 'a listener to approvals threw')
    }
  }

  function expireIn(transaction: Transaction, { id, state }: Approval, because: string): void {
    transaction.sql.prepare(`UPDATE guard_approval SET state = 'expired', reason = ? WHERE id = ?`).run(because, id)
    announce(transaction, id, { was: state, because })
  }

  /** Where questions are added, old ones go; a no that still holds stays. */
  function pruneIn({ sql, nowMs }: Transaction): void {
    const closed = `state IN ('denied', 'expired', 'used')`
    sql
      .prepare(
        `DELETE FROM guard_approval WHERE expires_at <= ? AND id IN
         (SELECT id FROM guard_approval WHERE ${closed} ORDER BY id DESC LIMIT -1 OFFSET ?)`,
      )
      .run(nowMs, config.maxKept)
  }

  function readIn({ sql }: Pick<Transaction, 'sql'>, id: string): Approval | undefined {
    const row = sql.prepare('SELECT * FROM guard_approval WHERE id = ?').get(id)
    return row === undefined ? undefined : toApproval(row)
  }

  function decide(
    id: string,
    by: Caller,
    work: (transaction: Transaction, approval: Approval) => Result<Approval, Fault>,
  ): Promise<Result<Approval, Fault>> {
    return transact((transaction) => {
      store.sweepIn(transaction)
      const approval = readIn(transaction, id)
      if (approval === undefined) return fail({ kind: 'not-found', message: `There is no approval ${id}.` } as const)
      const flaw = approverFlaw(by, decidable(approval))
      if (flaw !== undefined) {
        const rule = flaw.reasons?.[0]?.rule
        transaction.record({ kind: 'approval.refused', approval: id, by: callerKey(by), rule })
        return fail(flaw)
      }
      return work(transaction, approval)
    })
  }

  function alreadyDecided({ id, state }: Approval): Result<never, Fault> {
    return fail({ kind: 'conflict', message: `Approval ${id} is already ${state}.` })
  }

  const store: ApprovalStore = {
    list: ({ state, principal, before, limit } = {}) =>
      database.sql
        .prepare(
          `SELECT * FROM guard_approval
           WHERE (?1 IS NULL OR state = ?1) AND (?2 IS NULL OR principal = ?2) AND (?3 IS NULL OR id < ?3)
           ORDER BY id DESC LIMIT ?4`,
        )
        .all(state ?? null, principal ?? null, before ?? null, Math.max(1, Math.min(limit ?? MAX_LIST, MAX_LIST)))
        .map(toApproval),

    get: (id) => readIn(database, id),

    shownTo: (approval, by) => {
      const open = approval.state === 'requested' ? openCalls.get(approval.id) : undefined
      if (open === undefined || approverFlaw(by, decidable(approval)) !== undefined) return approval
      return { ...approval, shown: { ...approval.shown, ...open } }
    },

    approve: (id, by, { grant } = {}) =>
      decide(id, by, (transaction, approval) => {
        if (approval.state !== 'requested') return alreadyDecided(approval)
        const { sql, nowMs } = transaction
        const granted = grant === undefined ? ok(undefined) : grants.createIn(transaction, { grant, approval, by })
        if (!granted.ok) return granted
        sql
          .prepare(
            `UPDATE guard_approval SET state = 'approved', decided_at = ?, decided_by = ?, expires_at = ?, grant_id = ?
             WHERE id = ?`,
          )
          .run(nowMs, callerKey(by), nowMs + config.useMs, granted.value ?? null, id)
        const until = new Date(nowMs + config.useMs).toISOString()
        return ok(announce(transaction, id, { by: callerKey(by), grant: granted.value ?? null, expires_at: until }))
      }),

    deny: (id, by, reason) =>
      decide(id, by, (transaction, approval) => {
        const { state, grantId, expiresAtMs } = approval
        if (state !== 'requested' && state !== 'approved') return alreadyDecided(approval)
        if (grantId !== undefined) grants.takeBackIn(transaction, grantId, by)
        const kept = redactText(reason.slice(0, MAX_REASON)).toWellFormed()
        transaction.sql
          .prepare(
            `UPDATE guard_approval SET state = 'denied', decided_at = ?, decided_by = ?, reason = ? WHERE id = ?`,
          )
          .run(transaction.nowMs, callerKey(by), kept, id)
        // A yes that is taken back is a no for as long as the yes would have held.
        const instead =
          state === 'approved' ? { grant: grantId ?? null, expires_at: new Date(expiresAtMs).toISOString() } : {}
        return ok(announce(transaction, id, { by: callerKey(by), ...instead }, { reason: kept }))
      }),

    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },

    standingIn: ({ sql, nowMs }, binding, leaves) => {
      const past = sql
        .prepare(
          `SELECT * FROM guard_approval WHERE principal = ? AND tool = ? AND args_hash = ?
           ORDER BY id DESC LIMIT ${MAX_PAST}`,
        )
        .all(binding.principal, binding.tool, binding.argsHash)
        .map(toApproval)
      const exact = standingOf(past, binding, nowMs)
      if (exact.standing.state !== 'none' || leaves === undefined) return exact
      // A no to a node is one to everybody it speaks for.
      const denials = sql
        .prepare(
          `SELECT * FROM guard_approval WHERE principal IN (?, ?) AND tool = ? AND state = 'denied' AND expires_at > ?
           AND leaves IS NOT NULL ORDER BY id DESC LIMIT ${MAX_DENIALS}`,
        )
        .all(binding.principal, accountOf(binding.principal), binding.tool, nowMs)
        .filter((row) => isReworded(JSON.parse(String(row['leaves'])) as Leaves, leaves))
        .map(toApproval)
      const { standing } = standingOf(denials, binding, nowMs)
      return { standing, notes: exact.notes }
    },

    remindIn: (transaction, id, open) => transaction.afterwards(() => openCalls.set(id, open)),

    requestIn: (transaction, { binding, shown, open, leaves }) => {
      const { sql, nowMs } = transaction
      store.sweepIn(transaction)
      pruneIn(transaction)
      const waiting = sql.prepare(
        `SELECT COUNT(*) AS n FROM guard_approval WHERE state = 'requested' AND (?1 IS NULL OR ${OF_ACCOUNT})`,
      )
      if (Number(waiting.get(null)?.['n']) >= config.maxOpen) return fail(queueFull('this node', config))
      if (Number(waiting.get(accountOf(binding.principal))?.['n']) >= config.maxOpenPerPrincipal)
        return fail(queueFull('this caller', config))
      const id = ulid(nowMs)
      const { principal, tool, argsHash } = binding
      sql
        .prepare(
          `INSERT INTO guard_approval (id, state, principal, tool, args_hash, leaves, binding, shown, requested_at, expires_at)
           VALUES (?, 'requested', ?, ?, ?, ?, ?, ?, ?, ?)`,
        )
        .run(
          id,
          principal,
          tool,
          argsHash,
          leaves === undefined ? null : JSON.stringify(leaves),
          JSON.stringify(binding),
          JSON.stringify(shown),
          nowMs,
          nowMs + config.openMs,
        )
      // Before whoever listens hears of the question.
      store.remindIn(transaction, id, open)
      return ok(
        announce(
          transaction,
          id,
          {
            args_hash: argsHash,
            definition_hash: binding.definitionHash,
            policy_version: binding.policyVersion,
            promise_hash: binding.promiseHash,
            leaves_hash: leaves === undefined ? null : sha256(leaves),
            preview_hash: shown.previewHash ?? null,
            expires_at: new Date(nowMs + config.openMs).toISOString(),
            trace_id: shown.traceId,
          },
          { arguments: shown.arguments, preview: shown.preview ?? null, label: shown.label ?? null },
        ),
      )
    },

    useIn: (transaction, id, { traceId }) => {
      const used = transaction.sql
        .prepare(
          `UPDATE guard_approval SET state = 'used', used_at = ?1, used_trace = ?2
           WHERE id = ?3 AND state = 'approved' AND expires_at > ?1`,
        )
        .run(transaction.nowMs, traceId, id)
      if (Number(used.changes) !== 1) throw new Error(`approval ${id} cannot be used`)
      announce(transaction, id, { trace_id: traceId })
    },

    giveBackIn: (transaction, id, { traceId }) => {
      const returned = transaction.sql
        .prepare(
          `UPDATE guard_approval SET state = 'approved', used_at = NULL, used_trace = NULL
           WHERE id = ? AND state = 'used' AND used_trace = ?`,
        )
        .run(id, traceId)
      if (Number(returned.changes) === 1) announce(transaction, id, { given_back_by: traceId })
    },

    sweepIn: (transaction) => {
      const { sql, nowMs } = transaction
      const lapsed = sql
        .prepare(
          `SELECT * FROM guard_approval WHERE state IN ('requested', 'approved')
           AND (expires_at <= ?1 OR requested_at > ?1 + ${CLOCK_SLACK_MS} OR binding ->> 'policyVersion' <> ?2)`,
        )
        .all(nowMs, policyVersion)
        .map(toApproval)
      for (const approval of lapsed)
        expireIn(transaction, approval, lapseOf(approval, policyVersion, nowMs) ?? 'the clock was set back')
      return lapsed.length
    },

    forgetIn: (transaction, principal) => {
      const open = transaction.sql
        .prepare(`SELECT * FROM guard_approval WHERE principal = ? AND state IN ('requested', 'approved')`)
        .all(principal)
        .map(toApproval)
      for (const approval of open) expireIn(transaction, approval, 'the credential is gone')
    },
  }
  return store
}

function decidable({ binding, shown }: Approval): ApproverRequest {
  return { principal: binding.principal, target: binding.target, effect: shown.effect }
}

function queueFull(whose: string, config: ApprovalsConfig): Fault {
  const message = `Too many questions of ${whose} wait for an answer already.`
  return {
    kind: 'busy',
    message,
    retryAfterMs: config.openMs,
    reasons: [{ rule: 'approval-queue', message }],
  }
}
