/**
 * Chain: the one way in. lock ▸ validate ▸ audit enter ▸ dispatch ▸ audit exit (spec 5 § 4).
 *
 * MCP over stdio or HTTP, the CLI, the console, a peer, one service calling another: the bus sends every call through
 * the function made here, and has no other way to a handler.
 *
 * Pure: its stages do what they were given to do.
 */
import type { CallPipeline } from '../bus/call-pipeline.ts'
import type { Outcome, Call } from '../bus/call.ts'
import type { KeyedLock, LockFault, ReleaseLock } from '../core/fair-queue.ts'
import { createAuditEnterStage, createAuditExitStage } from './audit.ts'
import type { AuditOptions } from './audit.ts'
import type { CallContext, NextStage, InternalErrorReporter, CallStage } from './context.ts'
import { createDispatchStage } from './dispatch.ts'
import type { DispatchDependencies } from './dispatch.ts'
import type { Offer } from '../bus/capability.ts'
import type { Fault } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import type { Result } from '../core/result.ts'
import { createStageInternalFault } from './context.ts'
import { toAccountKey } from '../bus/caller.ts'
import { fillInConfirmationArguments } from '../guard/guard-faults.ts'

export interface CallChainDependencies {
  readonly lock: KeyedLock
  readonly validateRequest: RequestValidator
  readonly audit: AuditOptions
  readonly decision: DispatchDependencies['decision']
  readonly monotonic: () => number
  readonly report: InternalErrorReporter
}

interface NamedStage {
  /** The stage's name in the trace of a call. */
  readonly name: string
  readonly stage: CallStage
}

export function listCallStages(parts: CallChainDependencies): readonly NamedStage[] {
  return [
    { name: 'lock', stage: createLockStage(parts.lock, parts) },
    { name: 'validate', stage: createValidateStage(parts.validateRequest, parts.report) },
    { name: 'audit enter', stage: createAuditEnterStage(parts.audit) },
    { name: 'dispatch', stage: createDispatchStage({ ...parts, changeRefusal: parts.audit.log.changeRefusal }) },
    { name: 'audit exit', stage: createAuditExitStage(parts.audit) },
  ]
}

export function createCallChain(parts: CallChainDependencies): CallPipeline {
  const walk = listCallStages(parts).reduceRight<NextStage>(
    (rest, named) => timed(named, rest, parts.monotonic),
    (context) => Promise.resolve(decided(context)),
  )
  return (call, offer, execute) =>
    walk(call.refusal === undefined ? { call, offer, execute } : { call, offer, execute, refusal: call.refusal })
}

/** The time of a stage ends when it calls the next one. */
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

// Schema validate: stage 2. Only arguments that fit the offer's schema get further; what gets further is the parsed
// form, with defaults filled in.

export type RequestValidator = (offer: Offer, body: JsonObject) => Result<JsonObject, Fault>

export function createValidateStage(validateRequest: RequestValidator, report: InternalErrorReporter): CallStage {
  return (context, next) => {
    const { call, offer, refusal } = context
    if (offer === undefined || refusal !== undefined) return next(context)
    let accepted: Result<JsonObject, Fault>
    try {
      accepted = validateRequest(offer, call.body)
    } catch (error) {
      report(error, `the arguments of ${call.capability} could not be checked`)
      return next({ ...context, refusal: createStageInternalFault(call) })
    }
    if (accepted.ok) return next({ ...context, call: { ...call, body: accepted.value } })
    const completed = fillInConfirmationArguments(offer, call)
    if (completed === undefined) return next({ ...context, refusal: accepted.fault })
    // The arguments fit, except that claims such as `confirm` are missing: the answer shows the call with them.
    const { fault } = accepted
    return next({ ...context, refusal: { ...fault, details: { ...fault.details, next: completed } } })
  }
}

// Tool lock: stage 1. Two handlers that would touch the same thing do not overlap (spec 5 § 4). The key names the
// thing, not the tool: a HomeSeer ref, a bus, a device, the runtime's database. It is held until the handler is done
// and the exit has its place in the ledger, but not until that is on the disk, so that calls which wait for the same
// key still share one fsync.

const RETRY_AFTER_MS = 1_000

export function createLockStage(
  lock: KeyedLock,
  { monotonic, report }: { readonly monotonic: () => number; readonly report: InternalErrorReporter },
): CallStage {
  return (context, next) => {
    const { call, offer } = context
    if (context.refusal !== undefined) return next(context)
    let key: string | undefined
    try {
      key = offer === undefined ? undefined : lockKey(offer, call)
    } catch (error) {
      // The arguments are not validated yet: a family whose lock function throws on them must not keep the call off the
      // record.
      report(error, `the lock of ${call.capability} could not be told`)
      return next({ ...context, refusal: createStageInternalFault(call) })
    }
    // A service that calls a service would otherwise wait for a lock that its own caller holds.
    if (key === undefined || call.heldLocks.includes(key)) return next(context)
    return nextWithLock(key, context, next)
  }

  async function nextWithLock(key: string, context: CallContext, next: NextStage): Promise<Outcome> {
    const { call } = context
    const acquired = await lock.acquire(key, toAccountKey(call.caller), call.signal)
    if (!acquired.ok) return await next({ ...context, refusal: toFault(acquired.fault, call, monotonic()) })
    const release = (): void => releaseWhenDone(call, acquired.value)
    try {
      return await next({ ...context, release, call: { ...call, heldLocks: [...call.heldLocks, key] } })
    } finally {
      release()
    }
  }
}

/** A handler that was cut off may still be running although its caller was answered: the next holder waits for it. */
function releaseWhenDone(call: Call, release: ReleaseLock): void {
  const working = call.ticket?.stillWorking
  if (working === undefined) release()
  else working.then(release, release)
}

function lockKey({ lock }: Offer, call: Call): string | undefined {
  const key: unknown = typeof lock === 'function' ? lock(call.body) : lock
  if (key === undefined || typeof key === 'string') return key
  throw new TypeError(`the lock of ${call.capability} is not a text`)
}

function toFault(fault: LockFault, call: Call, nowMs: number): Fault {
  if (fault === 'queue-full') {
    return {
      kind: 'busy',
      message: `Too many calls wait for what ${call.capability} works on. Try again in a moment.`,
      retryAfterMs: RETRY_AFTER_MS,
    }
  }
  if (nowMs >= call.deadlineMs)
    return {
      kind: 'timed-out',
      message: `The deadline passed while ${call.capability} waited for its turn. Nothing was done.`,
    }
  return { kind: 'cancelled', message: 'The caller went away before its turn came. Nothing was done.' }
}
