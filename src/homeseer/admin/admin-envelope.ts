/**
 * Admin envelope: the contract's form for the result of an administration call, with the difference that it made.
 */
import type { Call } from '../../bus/call.ts'
import { z } from 'zod'
import { omitUndefined, canonicalJson, type Json, type JsonObject } from '../../core/json.ts'
import type { AdminDomain } from '../tools/change-policy.ts'
import type { AdminCallRedactor } from './admin-redaction.ts'
import type { AdminGuardArguments } from './admin-operation.ts'

/** The fields that the contract requires. */
export const ADMIN_ENVELOPE_SCHEMA = z.looseObject({
  result: z.enum(['planned', 'applied', 'failed']),
  // The contract does not define the items; ours have `check`, `status` and, where it varies, `required`.
  precheck: z.array(z.unknown()),
  steps: z.array(z.unknown()),
  rollback: z.enum(['not_needed', 'available']),
  auditRef: z.string(),
})

/** The fields of the envelope. `before`, `after` and `data` are absent, not empty, where they are unknown. */
export interface AdminEnvelopeFields {
  readonly result: 'planned' | 'applied' | 'failed'
  readonly domain: AdminDomain
  readonly claims: AdminGuardArguments
  /** Whether the owner wants a ticket for changes. */
  readonly requireTicket: boolean
  readonly auditRef: string
  readonly steps: readonly JsonObject[]
  readonly rollback?: AdminRollbackAvailability | undefined
  /** The record before the change; `redaction` determines what of it is shown. */
  readonly before?: JsonObject | undefined
  readonly after?: JsonObject | undefined
  readonly redaction: AdminCallRedactor
  readonly data?: JsonObject | undefined
}

/** The id with which the change can be rolled back, or the reason why it cannot be. */
export type AdminRollbackAvailability = { readonly id: string } | { readonly refusedBecause: string }

/** What every envelope says about the call. `domain` is `null` if the call to be rolled back was not found. */
type CallParts = Pick<AdminEnvelopeFields, 'claims' | 'requireTicket' | 'auditRef'> & {
  readonly domain: AdminDomain | null
}

/** Details of a call that may be refused. The family adds the result of the refusal, because it knows the reasons. */
export function createAdminRefusalDetails(parts: CallParts): JsonObject {
  return { envelope: { precheck: checksOf(parts), ...callJson(parts) } }
}

/** Only for calls that passed the guard, so every precheck has passed; the family formats a refused call. */
export function createAdminEnvelope(parts: AdminEnvelopeFields): JsonObject {
  const { result, steps, rollback, before, after, redaction, data } = parts
  const seen = before !== undefined || after !== undefined
  return {
    result,
    precheck: checksOf(parts).map(({ check, ...more }) => ({ check, status: 'pass', ...more })),
    steps: [...steps],
    ...rollbackJson(rollback),
    ...callJson(parts),
    ...(before === undefined ? {} : { before: redaction.record(before) }),
    ...(after === undefined ? {} : { after: redaction.record(after) }),
    ...(seen ? { diff: differenceOf(before ?? {}, after ?? {}, redaction) } : {}),
    ...omitUndefined({ data }),
  }
}

/**
 * The envelope of a dry run. `route` is the configured one, because the choice of `auto` is only known after an
 * attempt.
 */
export function createPlannedAdminEnvelope(
  parts: Omit<AdminEnvelopeFields, 'result' | 'steps'>,
  route: string,
): JsonObject {
  return createAdminEnvelope({
    ...parts,
    result: 'planned',
    steps: [{ name: 'execute', status: 'planned', route }],
    data: { dryRun: true, ...parts.data, payload: parts.redaction.payload },
  })
}

/** A reference to the record of this call: each of its events has the trace id. */
export function formatAuditRef(call: Pick<Call, 'traceId'>): string {
  return `trace:${call.traceId}`
}

function checksOf({ requireTicket }: Pick<CallParts, 'requireTicket'>) {
  return [
    { check: 'policy' },
    { check: 'maintenance_window', required: true },
    { check: 'change_ticket', required: requireTicket },
  ]
}

function callJson({ auditRef, domain, claims }: CallParts): JsonObject {
  return {
    auditRef,
    // The tier follows from the tool, whatever the caller claimed (ADR 20).
    operationTier: 'admin',
    domain,
    maintenanceWindowId: claims.maintenanceWindowId ?? null,
    changeTicket: claims.changeTicket ?? null,
    riskLevel: claims.riskLevel,
  }
}

/** The contract has only two values, so a call that cannot be rolled back is `not_needed` as well. */
function rollbackJson(rollback: AdminRollbackAvailability | undefined): JsonObject {
  if (rollback === undefined) return { rollback: 'not_needed' }
  if ('id' in rollback) return { rollback: 'available', rollbackId: rollback.id }
  return { rollback: 'not_needed', rollbackNote: rollback.refusedBecause }
}

/** Member by member, one level deep: deep enough for records of users, cameras and events. */
function differenceOf(before: JsonObject, after: JsonObject, { record }: AdminCallRedactor): JsonObject {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted()
  // By what they were: of two hidden passwords nobody could say whether they differ.
  const changed = names.filter((name) => !same(before[name], after[name]))
  const [was, is] = [record(before), record(after)]
  return {
    changed: changed.length > 0,
    changedKeys: changed,
    changes: Object.fromEntries(changed.map((name) => [name, { before: was[name] ?? null, after: is[name] ?? null }])),
  }
}

/** Absent and null are the same here, and the order of members is not a difference. */
function same(left: Json | undefined, right: Json | undefined): boolean {
  return canonicalJson(left ?? null) === canonicalJson(right ?? null)
}
