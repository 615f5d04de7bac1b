/**
 * Operation: one act of administration as a value: its arguments, what it touches, how it is undone.
 *
 * Pure.
 */
import { z } from 'zod'
import type { JsonObject } from '../../core/json.ts'
import { BASE_GUARD } from '../tools/guarded-tool.ts'
import type { AdminDomain, Claims, Touched } from '../tools/rules.ts'

const RISKS = ['low', 'medium', 'high'] as const

/** The contract's admin guard. `operationTier` is a claim: the tier follows from the tool. */
export function adminGuard<Domain extends AdminDomain>(domain: Domain) {
  return {
    ...BASE_GUARD,
    domain: z.literal(domain).default(domain),
    ...ADMIN_CLAIMS,
  }
}

export const ADMIN_CLAIMS = {
  operationTier: z.enum(['operator', 'admin']).exactOptional().describe('Always admin, whatever is said here.'),
  changeTicket: z.string().max(200).exactOptional(),
  maintenanceWindowId: z.string().max(200).exactOptional(),
  riskLevel: z.enum(RISKS).default('medium'),
}

export interface AdminClaims extends Claims {
  readonly riskLevel: (typeof RISKS)[number]
}

const GUARD_NAMES = new Set([...Object.keys(BASE_GUARD), ...Object.keys(ADMIN_CLAIMS), 'domain'])

/** The arguments without the guard's: what the adapter is told. */
export function plainArguments(input: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(input).filter(([name]) => !GUARD_NAMES.has(name)))
}

export interface Undo {
  /** The tool without `hs4.admin.`. */
  readonly op: string
  readonly args: JsonObject
}

/** What an operation found and left. `undefined` where nobody said. */
export interface Done {
  readonly args: JsonObject
  readonly before: JsonObject | undefined
  readonly after: JsonObject | undefined
}

export interface Operation {
  /** Also the adapter's name for it. */
  readonly op: string
  readonly domain: AdminDomain
  readonly title: string
  readonly description: string
  readonly shape: z.ZodRawShape
  /** `user:resident`: what the guard, the limits and the owner's rules know it as. */
  readonly target: (args: JsonObject) => string
  readonly touched: (args: JsonObject) => Touched
  /** The operation that brings back what was, where there is one that really does. */
  readonly undo?: (done: Done) => Undo | undefined
  readonly secrets?: readonly string[]
}
