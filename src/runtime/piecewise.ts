/**
 * Stride: long work done a piece at a time, at once inside a transaction or with turns for everybody else.
 */
import { setImmediate } from 'node:timers/promises'
import type { Fault } from '../core/fault.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'

/** Lets the event loop turn after each piece; stops when nobody waits for the answer any more. */
export async function runInPieces<Value>(
  work: Generator<undefined, Value, void>,
  signal: AbortSignal,
): Promise<Result<Value, Fault>> {
  for (let step = work.next(); ; step = work.next()) {
    if (step.done === true) return ok(step.value)
    if (signal.aborted) return fail({ kind: 'cancelled', message: 'The caller went away before the check was done.' })
    await setImmediate()
  }
}

/** For work inside a transaction, where nobody else may have a turn: the caller sees to it that it is short. */
export function runAtOnce<Value>(work: Generator<undefined, Value, void>): Value {
  for (let step = work.next(); ; step = work.next()) if (step.done === true) return step.value
}
