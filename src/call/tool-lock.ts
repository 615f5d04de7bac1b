/**
 * Tool lock: stage 1. Two handlers that would touch the same thing do not overlap (spec 5 § 4).
 *
 * The key names the thing, not the tool: a HomeSeer ref, a bus, a device, the runtime's database. It is held until the
 * handler is done and the exit has its place in the ledger, but not until that is on the disk: so those who queue for
 * one thing still share one fsync.
 *
 * Pure.
 */
import type { Call } from '../bus/call.ts'
import { accountKey } from '../bus/caller.ts'
import type { Offer } from '../bus/capability.ts'
import type { Fault } from '../core/fault.ts'
import type { KeyedLock, LockFault, Release } from '../core/keyed-lock.ts'
import { mistake } from './context.ts'
import type { Report, Stage } from './context.ts'

const RETRY_AFTER_MS = 1_000

export function toolLock(
  lock: KeyedLock,
  { monotonic, report }: { readonly monotonic: () => number; readonly report: Report },
): Stage {
  return async (context, next) => {
    const { call, offer } = context
    if (context.refusal !== undefined) return next(context)
    let key: string | undefined
    try {
      key = offer === undefined ? undefined : lockKey(offer, call)
    } catch (error) {
      // The arguments are as the caller sent them: a family that trips over them must not keep the call off the record.
      report(error, `the lock of ${call.capability} could not be told`)
      return next({ ...context, refusal: mistake(call) })
    }
    // A service that calls a service would otherwise wait for its own caller to finish.
    if (key === undefined || call.heldLocks.includes(key)) return next(context)
    const acquired = await lock.acquire(key, accountKey(call.caller), call.signal)
    if (!acquired.ok) return next({ ...context, refusal: toFault(acquired.fault, call, monotonic()) })
    const release = (): void => releaseWhenDone(call, acquired.value)
    try {
      return await next({ ...context, release, call: { ...call, heldLocks: [...call.heldLocks, key] } })
    } finally {
      release()
    }
  }
}

/** A handler that was cut off may still be at work, though its caller has been answered: the next one waits for it. */
function releaseWhenDone(call: Call, release: Release): void {
  const working = call.ticket?.stillWorking
  if (working === undefined) release()
  else working.then(release, release)
}

function lockKey({ lock }: Offer, call: Call): string | undefined {
  return typeof lock === 'function' ? lock(call.body) : lock
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
