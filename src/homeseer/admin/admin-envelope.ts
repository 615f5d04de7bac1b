/**
 * Admin envelope: the contract's form for what an act of administration came to, and the difference it made.
 *
 * Pure.
 */
import { z } from 'zod'
import { canonicalJson, type Json, type JsonObject } from '../../core/json.ts'
import type { AdminDomain } from '../tools/rules.ts'
import type { Discretion } from './discretion.ts'
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
  readonly rollback?: RollbackOffer | undefined
  /** As they were; `discretion` says what of them is shown. */
  readonly before?: JsonObject | undefined
  readonly after?: JsonObject | undefined
  readonly discretion: Discretion
  readonly data?: JsonObject | undefined
}

/** Where the change can be taken back, or why it cannot be. */
export type RollbackOffer = { readonly id: string } | { readonly refusedBecause: string }

/** Only for calls that passed the guard, so every precheck is passed; a refused call is spelt by the family. */
export function adminEnvelope(parts: EnvelopeParts): JsonObject {
  const { result, domain, claims, auditRef, steps, rollback, before, after, discretion, data } = parts
  const seen = before !== undefined || after !== undefined
  return {
    result,
    precheck: [
      { check: 'policy', status: 'pass' },
      { check: 'maintenance_window', status: 'pass', required: true },
      { check: 'change_ticket', status: 'pass', required: parts.requireTicket },
    ],
    steps: [...steps],
    ...rollbackJson(rollback),
    auditRef,
    // Whatever the caller claimed: the tier follows from the tool (ADR 20).
    operationTier: 'admin',
    domain,
    maintenanceWindowId: claims.maintenanceWindowId ?? null,
    changeTicket: claims.changeTicket ?? null,
    riskLevel: claims.riskLevel,
    ...(before === undefined ? {} : { before: discretion.record(before) }),
    ...(after === undefined ? {} : { after: discretion.record(after) }),
    ...(seen ? { diff: differenceOf(before ?? {}, after ?? {}, discretion) } : {}),
    ...(data === undefined ? {} : { data }),
  }
}

/** The contract has only two words: an act that cannot be taken back is `not_needed` as well. */
function rollbackJson(rollback: RollbackOffer | undefined): JsonObject {
  if (rollback === undefined) return { rollback: 'not_needed' }
  if ('id' in rollback) return { rollback: 'available', rollbackId: rollback.id }
  return { rollback: 'not_needed', rollbackNote: rollback.refusedBecause }
}

/** Member by member, one level deep: deep enough for records of users, cameras and events. */
function differenceOf(before: JsonObject, after: JsonObject, { record }: Discretion): JsonObject {
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
