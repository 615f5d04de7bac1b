/**
 * Admin envelope: the contract's form for what an act of administration came to, and the difference it made.
 */
import type { Call } from '../../bus/call.ts'
import { z } from 'zod'
import { omitUndefined, canonicalJson, type Json, type JsonObject } from '../../core/json.ts'
import type { AdminDomain } from '../tools/owner-rules.ts'
import type { AdminCallRedactor } from './admin-redaction.ts'
import type { AdminGuardArguments } from './admin-operation.ts'

/** The fields that the contract requires. */
export const ADMIN_ENVELOPE_SCHEMA = z.looseObject({
  result: z.enum(['planned', 'applied', 'failed']),
  // Their items are not in the contract; ours say `check`, `status` and, where it depends, `required`.
  precheck: z.array(z.unknown()),
  steps: z.array(z.unknown()),
  rollback: z.enum(['not_needed', 'available']),
  auditRef: z.string(),
})

/** `before`, `after` and `data` are absent, not empty, where nobody saw or said anything. */
export interface AdminEnvelopeFields {
  readonly result: 'planned' | 'applied' | 'failed'
  readonly domain: AdminDomain
  readonly claims: AdminGuardArguments
  /** Whether the owner wants a ticket for changes. */
  readonly requireTicket: boolean
  readonly auditRef: string
  readonly steps: readonly JsonObject[]
  readonly rollback?: AdminRollbackAvailability | undefined
  /** As they were; `redaction` says what of them is shown. */
  readonly before?: JsonObject | undefined
  readonly after?: JsonObject | undefined
  readonly redaction: AdminCallRedactor
  readonly data?: JsonObject | undefined
}

/** Where the change can be taken back, or why it cannot be. */
export type AdminRollbackAvailability = { readonly id: string } | { readonly refusedBecause: string }

/** What every envelope says of the call. `domain` is `null` where an act that is to be taken back was not found. */
type CallParts = Pick<AdminEnvelopeFields, 'claims' | 'requireTicket' | 'auditRef'> & {
  readonly domain: AdminDomain | null
}

/** Of a call that may be refused; what its refusal comes to, the family adds, which knows the reasons. */
export function createAdminRefusalDetails(parts: CallParts): JsonObject {
  return { envelope: { precheck: checksOf(parts), ...callJson(parts) } }
}

/** Only for calls that passed the guard, so every precheck is passed; a refused call is spelt by the family. */
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

/** Of a dry run; `route` as configured, since which of two `auto` takes is known only when it has been tried. */
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

/** Where the record of this very call can be found: every event of it bears the trace. */
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
    // Whatever the caller claimed: the tier follows from the tool (ADR 20).
    operationTier: 'admin',
    domain,
    maintenanceWindowId: claims.maintenanceWindowId ?? null,
    changeTicket: claims.changeTicket ?? null,
    riskLevel: claims.riskLevel,
  }
}

/** The contract has only two words: an act that cannot be taken back is `not_needed` as well. */
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
