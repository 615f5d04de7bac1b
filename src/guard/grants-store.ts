/**
 * Grants store: bounded yeses for calls to come, each use counted in the same step as what it lets through.
 *
 * A grant given under other rules, or for a tool that has changed since, covers nothing.
 *
 * Does I/O.
 */
import type { Caller } from '../bus/call.ts'
import { accountOf, callerKey, peerOf } from '../bus/caller-key.ts'
import type { Database } from '../core/database-store.ts'
import type { Fault } from '../core/fault.ts'
import { ulid } from '../core/ids.ts'
import type { JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { approverFlaw, CLOCK_SLACK_MS, hasLapsed } from './approval.ts'
import type { Approval } from './approval.ts'
import { toGrant } from './approval-row.ts'
import { sha256 } from './binding.ts'
import type { Binding, Leaves } from './binding.ts'
import { covers, frameOf, grantFlaw, pointerOf } from './grant.ts'
import type { Grant, GrantRequest } from './grant.ts'
import type { Transact, Transaction } from './transaction-store.ts'

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
    call: { readonly binding: Binding; readonly body: JsonObject; readonly leaves: Leaves | undefined },
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
const MAX_ENDED_KEPT = 1_000
const MAX_LIST = 500
const USED_UP = 'used up'

export function createGrants(options: {
  readonly database: Database
  readonly transact: Transact
  readonly policyVersion: string
}): GrantStore {
  const { database, transact, policyVersion } = options

  function endIn({ sql, nowMs, record }: Transaction, id: string, because: string, said: JsonObject = {}): void {
    sql.prepare('UPDATE guard_grant SET ended_at = ?, ended_because = ? WHERE id = ?').run(nowMs, because, id)
    record({ kind: 'grant.ended', grant: id, because, ...said })
  }

  function endedByIn(transaction: Transaction, { id, principal, tool, target = 'any' }: Grant, caller: Caller): void {
    const by = callerKey(caller)
    endIn(transaction, id, `ended by ${by}`, { by, principal, tool, target })
  }

  function inForceIn({ sql }: Transaction, id: string): Grant | undefined {
    const row = sql.prepare('SELECT * FROM guard_grant WHERE id = ? AND ended_at IS NULL').get(id)
    return row && toGrant(row)
  }

  return {
    list: (which = 'in-force') =>
      database.sql
        .prepare(`SELECT * FROM guard_grant WHERE ?1 OR ended_at IS NULL ORDER BY id DESC LIMIT ${MAX_LIST}`)
        .all(which === 'all' ? 1 : 0)
        .map(toGrant),

    end: (id, by) =>
      transact((transaction): Result<void, Fault> => {
        const grant = inForceIn(transaction, id)
        if (grant === undefined) return fail({ kind: 'not-found', message: `There is no grant ${id} in force.` })
        const flaw = approverFlaw(by, { principal: grant.principal, target: grant.target })
        if (flaw !== undefined) return fail(flaw)
        endedByIn(transaction, grant, by)
        return ok(undefined)
      }),

    createIn: ({ sql, nowMs, record }, { grant, approval, by: approver }) => {
      const scope = grant.target === 'same' ? approval.binding.target : undefined
      // Nobody gives away more than they may decide about one by one.
      const excess = approverFlaw(approver, {
        principal: approval.binding.principal,
        target: scope,
        effect: approval.shown.effect,
      })
      if (excess !== undefined) return fail(excess)
      const asker = approval.binding.principal
      if (grant.caller === 'node' && peerOf(asker) === undefined) return fail(invalid('no other node asked'))
      const by = callerKey(approver)
      const kept = sql.prepare('SELECT leaves FROM guard_approval WHERE id = ?').get(approval.id)?.['leaves']
      if (typeof kept !== 'string') return fail(invalid('the call has too many arguments for a grant'))
      const leaves = JSON.parse(kept) as Leaves
      const flaw = grantFlaw(grant, leaves)
      if (flaw !== undefined) return fail(invalid(flaw))
      const inForce = Number(sql.prepare('SELECT COUNT(*) AS n FROM guard_grant WHERE ended_at IS NULL').get()?.['n'])
      if (inForce >= MAX_IN_FORCE)
        return fail({ kind: 'busy', message: `This node keeps ${MAX_IN_FORCE} grants; end some first.` })
      sql
        .prepare(
          `DELETE FROM guard_grant WHERE id IN
           (SELECT id FROM guard_grant WHERE ended_at IS NOT NULL ORDER BY id DESC LIMIT -1 OFFSET ${MAX_ENDED_KEPT})`,
        )
        .run()
      const id = ulid(nowMs)
      const { tool, definitionHash } = approval.binding
      const principal = grant.caller === 'node' ? accountOf(asker) : asker
      const bounds = Object.fromEntries(
        Object.entries(grant.bounds).map(([name, span]) => [pointerOf(name), { ...span }]),
      )
      const free = grant.free.map(pointerOf)
      const frame = frameOf(leaves, [...Object.keys(bounds), ...free])
      sql
        .prepare(
          `INSERT INTO guard_grant (id, principal, tool, target, definition_hash, policy_version, frame, bounds, free,
             approval_id, granted_by, granted_at, expires_at, max_uses) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        )
        .run(
          id,
          principal,
          tool,
          scope ?? null,
          definitionHash,
          policyVersion,
          JSON.stringify(frame),
          JSON.stringify(bounds),
          JSON.stringify(free),
          approval.id,
          by,
          nowMs,
          nowMs + grant.durationMs,
          grant.maxUses,
        )
      record({
        kind: 'grant.created',
        grant: id,
        approval: approval.id,
        by,
        principal,
        tool,
        target: scope ?? 'any',
        definition_hash: definitionHash,
        policy_version: policyVersion,
        frame_hash: sha256(frame),
        bounds,
        free,
        max_uses: grant.maxUses,
        expires_at: new Date(nowMs + grant.durationMs).toISOString(),
      })
      return ok(id)
    },

    findIn: ({ sql, nowMs }, { binding, body, leaves }) => {
      const { principal, tool, target, definitionHash } = binding
      // One to a node is for everybody it speaks for; their own names are longer and come first.
      return sql
        .prepare(
          `SELECT * FROM guard_grant WHERE principal IN (?, ?) AND tool = ? AND ended_at IS NULL AND uses < max_uses
           ORDER BY principal DESC, id`,
        )
        .all(principal, accountOf(principal), tool)
        .map(toGrant)
        .find(
          (grant) =>
            grant.definitionHash === definitionHash &&
            grant.policyVersion === binding.policyVersion &&
            !hasLapsed({ fromMs: grant.grantedAtMs, untilMs: grant.expiresAtMs }, nowMs) &&
            covers(grant, { target, body, leaves }),
        )?.id
    },

    useIn: ({ sql, nowMs, record }, id, { traceId }) => {
      const used = sql
        .prepare(
          `UPDATE guard_grant SET uses = uses + 1
           WHERE id = ? AND ended_at IS NULL AND uses < max_uses AND expires_at > ? RETURNING uses, max_uses`,
        )
        .get(id, nowMs)
      if (used === undefined) throw new Error(`grant ${id} cannot be used`)
      record({ kind: 'grant.used', grant: id, trace_id: traceId, use: Number(used['uses']) })
    },

    giveBackIn: ({ sql, record }, id, { traceId }) => {
      // It may have ended meanwhile: because this very use was its last one, or for a reason that holds all the same.
      const returned = sql
        .prepare(
          `UPDATE guard_grant SET uses = uses - 1, ended_at = iif(ended_because = ?1, NULL, ended_at),
             ended_because = nullif(ended_because, ?1) WHERE id = ?2 AND uses > 0 RETURNING uses, ended_because`,
        )
        .get(USED_UP, id)
      if (returned === undefined) return
      const { uses, ended_because: because } = returned as { uses: number; ended_because: string | null }
      record({ kind: 'grant.given-back', grant: id, trace_id: traceId, uses, because })
    },

    takeBackIn: (transaction, id, by) => {
      const grant = inForceIn(transaction, id)
      if (grant !== undefined) endedByIn(transaction, grant, by)
    },

    sweepIn: (transaction) => {
      const { sql, nowMs } = transaction
      const over = sql
        .prepare(
          `SELECT * FROM guard_grant WHERE ended_at IS NULL AND (expires_at <= ?1 OR granted_at > ?1 + ${CLOCK_SLACK_MS}
           OR uses >= max_uses OR policy_version <> ?2)`,
        )
        .all(nowMs, policyVersion)
        .map(toGrant)
      for (const grant of over) endIn(transaction, grant.id, endOf(grant, policyVersion))
      return over.length
    },

    forgetIn: (transaction, principal) => {
      const rows = transaction.sql.prepare('SELECT id FROM guard_grant WHERE principal = ? AND ended_at IS NULL')
      for (const { id } of rows.all(principal)) endIn(transaction, String(id), 'the credential is gone')
    },
  }
}

function endOf(grant: Grant, policyVersion: string): string {
  if (grant.policyVersion !== policyVersion) return 'the rules have changed'
  return grant.uses >= grant.maxUses ? USED_UP : 'its time is over'
}

function invalid(flaw: string): Fault {
  return { kind: 'invalid-arguments', message: `Not a grant: ${flaw}.` }
}
