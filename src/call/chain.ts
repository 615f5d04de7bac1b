/**
 * Chain: the one way in. lock ▸ validate ▸ audit enter ▸ dispatch ▸ audit exit (spec 5 § 4).
 *
 * MCP over stdio or HTTP, the CLI, the console, a peer, one service calling another: the bus sends every call through
 * the function made here, and has no other way to a handler.
 *
 * Pure: its stages do what they were given to do.
 */
import type { Admit } from '../bus/admit.ts'
import type { Outcome } from '../bus/call.ts'
import { auditEnter, auditExit } from './audit.ts'
import type { AuditOptions } from './audit.ts'
import { dispatch } from './dispatch.ts'
import type { Gate } from './dispatch.ts'
import type { KeyedLock } from './keyed-lock.ts'
import { schemaValidate } from './schema-validate.ts'
import type { ValidateRequest } from './schema-validate.ts'
import type { Next, Passage, Report, Stage } from './stage.ts'
import { toolLock } from './tool-lock.ts'

export interface ChainParts {
  readonly lock: KeyedLock
  readonly validateRequest: ValidateRequest
  readonly audit: AuditOptions
  readonly gate: Gate
  readonly monotonic: () => number
  readonly report: Report
}

interface NamedStage {
  /** What the trace of a call calls the time that it spent here. */
  readonly name: string
  readonly stage: Stage
}

/** The order is part of the contract. */
export function stagesOf(parts: ChainParts): readonly NamedStage[] {
  return [
    { name: 'lock', stage: toolLock(parts.lock, parts) },
    { name: 'validate', stage: schemaValidate(parts.validateRequest, parts.report) },
    { name: 'audit enter', stage: auditEnter(parts.audit) },
    { name: 'dispatch', stage: dispatch(parts.gate) },
    { name: 'audit exit', stage: auditExit(parts.audit) },
  ]
}

export function createChain(parts: ChainParts): Admit {
  const walk = stagesOf(parts).reduceRight<Next>(
    (rest, named) => timed(named, rest, parts.monotonic),
    (passage) => Promise.resolve(decided(passage)),
  )
  return (call, offer, proceed) =>
    walk(call.refusal === undefined ? { call, offer, proceed } : { call, offer, proceed, refusal: call.refusal })
}

/** A stage's time ends where it hands the passage on. */
function timed({ name, stage }: NamedStage, rest: Next, monotonic: () => number): Next {
  return (passage) => {
    const beganMs = monotonic()
    return stage(passage, (next) => {
      passage.call.ticket?.mark(name, monotonic() - beganMs)
      return rest(next)
    })
  }
}

function decided({ outcome }: Passage): Outcome {
  if (outcome === undefined) throw new Error('nobody dispatched the call')
  return outcome
}
