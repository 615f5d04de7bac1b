/**
 * Chain: the one way in. lock ▸ validate ▸ audit enter ▸ dispatch ▸ audit exit (spec 5 § 4).
 *
 * MCP over stdio or HTTP, the CLI, the console, a peer, one service calling another: the bus sends every call through
 * the function made here, and has no other way to a handler.
 *
 * Pure: its stages do what they were given to do.
 */
import type { CallPipeline } from '../bus/call-pipeline.ts'
import type { Outcome } from '../bus/call.ts'
import type { KeyedLock } from '../core/keyed-lock.ts'
import { auditEnter, auditExit } from './audit.ts'
import type { AuditOptions } from './audit.ts'
import type { CallContext, NextStage, Report, Stage } from './context.ts'
import { dispatch } from './dispatch.ts'
import type { DispatchParts } from './dispatch.ts'
import { schemaValidate } from './schema-validate.ts'
import type { ValidateRequest } from './schema-validate.ts'
import { toolLock } from './tool-lock.ts'

export interface ChainParts {
  readonly lock: KeyedLock
  readonly validateRequest: ValidateRequest
  readonly audit: AuditOptions
  readonly decision: DispatchParts['decision']
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
    { name: 'dispatch', stage: dispatch(parts) },
    { name: 'audit exit', stage: auditExit(parts.audit) },
  ]
}

export function createChain(parts: ChainParts): CallPipeline {
  const walk = stagesOf(parts).reduceRight<NextStage>(
    (rest, named) => timed(named, rest, parts.monotonic),
    (context) => Promise.resolve(decided(context)),
  )
  return (call, offer, execute) =>
    walk(call.refusal === undefined ? { call, offer, execute } : { call, offer, execute, refusal: call.refusal })
}

/** A stage's time ends where it hands the context on. */
function timed({ name, stage }: NamedStage, rest: NextStage, monotonic: () => number): NextStage {
  return (context) => {
    const beganMs = monotonic()
    return stage(context, (next) => {
      context.call.ticket?.mark(name, monotonic() - beganMs)
      return rest(next)
    })
  }
}

function decided({ outcome }: CallContext): Outcome {
  if (outcome === undefined) throw new Error('nobody dispatched the call')
  return outcome
}
