/**
 * Chain: the one way in. lock ▸ validate ▸ audit enter ▸ dispatch ▸ audit exit (spec 5 § 4).
 *
 * MCP over stdio or HTTP, the CLI, the console, a peer, one service calling another: the bus sends every call through
 * the function made here, and has no other way to a handler.
 *
 * Pure: its stages do what they were given to do.
 */
import type { Admit } from '../bus/admit.ts'
import { auditEnter, auditExit } from './audit.ts'
import type { AuditOptions } from './audit.ts'
import { dispatch } from './dispatch.ts'
import type { Gate } from './dispatch.ts'
import type { KeyedLock } from './keyed-lock.ts'
import { schemaValidate } from './schema-validate.ts'
import type { ValidateRequest } from './schema-validate.ts'
import type { Next, Stage } from './stage.ts'
import { toolLock } from './tool-lock.ts'

export interface ChainParts {
  readonly lock: KeyedLock
  readonly validateRequest: ValidateRequest
  readonly audit: AuditOptions
  readonly gate: Gate
  readonly monotonic: () => number
}

/** The order is part of the contract. */
export function stagesOf(parts: ChainParts): readonly Stage[] {
  return [
    toolLock(parts.lock, parts.monotonic),
    schemaValidate(parts.validateRequest),
    auditEnter(parts.audit),
    dispatch(parts.gate),
    auditExit(parts.audit),
  ]
}

export function createChain(parts: ChainParts): Admit {
  const walk = stagesOf(parts).reduceRight<Next>(
    (rest, stage) => (passage) => stage(passage, rest),
    () => Promise.reject(new Error('audit exit is the last stage')),
  )
  return (call, offer, proceed) => walk({ call, offer, proceed })
}
