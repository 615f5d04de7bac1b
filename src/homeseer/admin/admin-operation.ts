/**
 * Operation: one act of administration as a value: its arguments, what it touches, how it is undone.
 */
import { z } from 'zod'
import type { JsonObject } from '../../core/json.ts'
import { BASE_GUARD_ARGUMENT_SCHEMAS } from '../tools/homeseer-change.ts'
import {
  ADMIN_RISK_LEVELS,
  type AdminDomain,
  type HomeseerGuardArguments,
  type TouchedTargets,
} from '../tools/owner-rules.ts'

/** The contract's admin guard. `operationTier` is a claim: the tier follows from the tool. */
export function createAdminGuardArgumentSchemas<Domain extends AdminDomain>(domain: Domain) {
  return {
    ...BASE_GUARD_ARGUMENT_SCHEMAS,
    // The contract requires it; it can only be the tool's own, so it may also be left out.
    domain: z.literal(domain).default(domain),
    ...ADMIN_GUARD_ARGUMENT_SCHEMAS,
  }
}

/** Claims are recorded and compared with the owner's rules (tools/owner-rules.ts); `riskLevel` is only recorded. */
export const ADMIN_GUARD_ARGUMENT_SCHEMAS = {
  operationTier: z.enum(['operator', 'admin']).exactOptional().describe('Always admin, whatever is said here.'),
  changeTicket: z.string().max(200).exactOptional(),
  maintenanceWindowId: z.string().max(200).exactOptional(),
  riskLevel: z.enum(ADMIN_RISK_LEVELS).default('medium'),
}

export interface AdminGuardArguments extends HomeseerGuardArguments {
  readonly riskLevel: (typeof ADMIN_RISK_LEVELS)[number]
}

/** Never reach HomeSeer: an adapter that saw `confirm` might come to rely on it. */
const GUARD_NAMES = new Set([
  ...Object.keys(BASE_GUARD_ARGUMENT_SCHEMAS),
  ...Object.keys(ADMIN_GUARD_ARGUMENT_SCHEMAS),
  'domain',
])

/** The arguments without the guard's: what the adapter is told. */
export function omitGuardArguments(input: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(input).filter(([name]) => !GUARD_NAMES.has(name)))
}

export interface AdminUndoOperation {
  /** The tool without `hs4.admin.`. */
  readonly op: string
  readonly args: JsonObject
}

/** What an operation found and left. `undefined` where nobody said. */
export interface AdminOperationRecord {
  readonly args: JsonObject
  readonly before: JsonObject | undefined
  readonly after: JsonObject | undefined
}

export interface AdminOperation {
  /** Also the adapter's name for it. */
  readonly op: string
  readonly domain: AdminDomain
  readonly title: string
  readonly description: string
  /** Its own arguments; the guard's are added by `createAdminGuardArgumentSchemas`. */
  readonly shape: z.ZodRawShape
  /** `user:resident`: what the guard, the limits and the owner's rules know it as. */
  readonly target: (args: JsonObject) => string
  /** For the owner's lists (`HS4_ADMIN_ALLOWED_*_IDS` and those of devices, events and cameras). */
  readonly touched: (args: JsonObject) => TouchedTargets
  /** The operation that brings back what was, where there is one that really does. */
  readonly undo?: (done: AdminOperationRecord) => AdminUndoOperation | undefined
  /** Arguments that no preview, record or rollback shows. */
  readonly secrets?: readonly string[]
  /** Whether this very call sets a secret under an innocent name. What HomeSeer answers to it is then shown nowhere. */
  readonly setsSecret?: (args: JsonObject) => boolean
}
