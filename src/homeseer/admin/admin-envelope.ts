/**
 * Admin envelope: the contract's form for what an act of administration came to, and the difference it made.
 *
 * Pure.
 */
import { z } from 'zod'
import { canonicalJson, type Json, type JsonObject } from '../../core/json.ts'
import type { AdminDomain } from '../tools/rules.ts'
import type { AdminClaims } from './operation.ts'

/** The fields that the contract requires. */
export const ENVELOPE_OUTPUT = z.looseObject({
  result: z.enum(['planned', 'applied', 'failed']),
  // Their items are not in the contract; ours say `check`, `status` and, where it depends, `required`.
  precheck: z.array(z.unknown()),
  steps: z.array(z.unknown()),
  rollback: z.enum(['not_needed', 'available']),
  auditRef: z.string(),
})

/** `before`, `after` and `data` are absent, not empty, where nobody saw or said anything. */
export interface EnvelopeParts {
  readonly result: 'planned' | 'applied' | 'failed'
  readonly domain: AdminDomain
  readonly claims: AdminClaims
  /** Whether the owner wants a ticket for changes. */
  readonly requireTicket: boolean
  readonly auditRef: string
  readonly steps: readonly JsonObject[]
  /** Where the change can be taken back; absent when it cannot. */
  readonly rollbackId?: string | undefined
  readonly before?: JsonObject | undefined
  readonly after?: JsonObject | undefined
  readonly data?: JsonObject | undefined
}

/** Only for calls that passed the guard, so every precheck is passed; a refused call is spelt by the family. */
export function adminEnvelope(parts: EnvelopeParts): JsonObject {
  const { result, domain, claims, auditRef, steps, rollbackId, before, after, data } = parts
  const changes = before === undefined && after === undefined ? undefined : differenceOf(before ?? {}, after ?? {})
  return {
    result,
    precheck: [
      { check: 'policy', status: 'pass' },
      { check: 'maintenance_window', status: 'pass', required: true },
      { check: 'change_ticket', status: 'pass', required: parts.requireTicket },
    ],
    steps: [...steps],
    // The contract has only these two words: an act that cannot be taken back is `not_needed` as well.
    rollback: rollbackId === undefined ? 'not_needed' : 'available',
    ...(rollbackId === undefined ? {} : { rollbackId }),
    auditRef,
    // Whatever the caller claimed: the tier follows from the tool (ADR 20).
    operationTier: 'admin',
    domain,
    maintenanceWindowId: claims.maintenanceWindowId ?? null,
    changeTicket: claims.changeTicket ?? null,
    riskLevel: claims.riskLevel,
    ...(before === undefined ? {} : { before }),
    ...(after === undefined ? {} : { after }),
    ...(changes === undefined ? {} : { diff: changes }),
    ...(data === undefined ? {} : { data }),
  }
}

/** Member by member, one level deep: deep enough for records of users, cameras and events. */
function differenceOf(before: JsonObject, after: JsonObject): JsonObject {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted()
  const changed = names.filter((name) => !same(before[name], after[name]))
  return {
    changed: changed.length > 0,
    changedKeys: changed,
    changes: Object.fromEntries(
      changed.map((name) => [name, { before: before[name] ?? null, after: after[name] ?? null }]),
    ),
  }
}

/** Absent and null are the same here, and the order of members is not a difference. */
function same(left: Json | undefined, right: Json | undefined): boolean {
  return canonicalJson(left ?? null) === canonicalJson(right ?? null)
}
