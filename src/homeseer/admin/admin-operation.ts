/**
 * Admin operation: one administration operation as a value: its arguments, the targets it touches, and its undo.
 */
import { z } from 'zod'
import type { JsonObject } from '../../core/json.ts'
import { BASE_GUARD_ARGUMENT_SCHEMAS } from '../tools/homeseer-change.ts'
import {
  ADMIN_DECLARED_RISK_LEVELS,
  type AdminDomain,
  type ChangeJustificationArguments,
  type TouchedTargets,
} from '../tools/change-policy.ts'

/** The arguments of the contract's admin guard. `operationTier` is only a claim: the tier follows from the tool. */
export function createAdminGuardArgumentSchemas<Domain extends AdminDomain>(domain: Domain) {
  return {
    ...BASE_GUARD_ARGUMENT_SCHEMAS,
    // The contract requires it, but only the tool's own value is valid, so it may be left out.
    domain: z.literal(domain).default(domain),
    ...ADMIN_DECLARATION_ARGUMENT_SCHEMAS,
  }
}

/**
 * These claims are recorded and compared with the owner's rules (tools/owner-rules.ts); `riskLevel` is only recorded.
 */
export const ADMIN_DECLARATION_ARGUMENT_SCHEMAS = {
  operationTier: z.enum(['operator', 'admin']).exactOptional().describe('Always admin, whatever is said here.'),
  changeTicket: z.string().max(200).exactOptional(),
  maintenanceWindowId: z.string().max(200).exactOptional(),
  riskLevel: z.enum(ADMIN_DECLARED_RISK_LEVELS).default('medium'),
}

export interface AdminGuardArguments extends ChangeJustificationArguments {
  readonly riskLevel: (typeof ADMIN_DECLARED_RISK_LEVELS)[number]
}

/** These arguments never reach HomeSeer: an adapter that received `confirm` might begin to rely on it. */
const GUARD_NAMES = new Set([
  ...Object.keys(BASE_GUARD_ARGUMENT_SCHEMAS),
  ...Object.keys(ADMIN_DECLARATION_ARGUMENT_SCHEMAS),
  'domain',
])

/** The arguments without those of the guard, for the adapter. */
export function omitGuardArguments(input: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(input).filter(([name]) => !GUARD_NAMES.has(name)))
}

export interface AdminUndoOperation {
  /** The tool without `hs4.admin.`. */
  readonly op: string
  readonly args: JsonObject
}

/** The state before and after an operation; `undefined` where it is unknown. */
export interface AdminOperationBeforeAfter {
  readonly args: JsonObject
  readonly before: JsonObject | undefined
  readonly after: JsonObject | undefined
}

export interface AdminOperation {
  /** The name of the operation, which the adapter uses, too. */
  readonly op: string
  readonly domain: AdminDomain
  readonly title: string
  readonly description: string
  /** The operation's own arguments; `createAdminGuardArgumentSchemas` adds those of the guard. */
  readonly shape: z.ZodRawShape
  /** A target such as `user:resident`, for the guard, the limits and the owner's rules. */
  readonly target: (args: JsonObject) => string
  /** The targets for the owner's lists (`HS4_ADMIN_ALLOWED_*_IDS` and those of devices, events and cameras). */
  readonly touched: (args: JsonObject) => TouchedTargets
  /** The operation that restores the state before, if there is one that really does. */
  readonly undo?: (done: AdminOperationBeforeAfter) => AdminUndoOperation | undefined
  /** Arguments that no preview, record or rollback shows. */
  readonly secrets?: readonly string[]
  /** Whether this call sets a secret under an ordinary name. HomeSeer's answer to such a call is not shown. */
  readonly setsSecret?: (args: JsonObject) => boolean
}
