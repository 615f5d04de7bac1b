/** Generator runner: runs long work in pieces, either at once inside a transaction, or yielding to the event loop. */
import { setImmediate } from 'node:timers/promises'
import type { Fault } from '../core/fault.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'

/** Runs a generator and yields to the event loop after each piece; stops when the caller has gone. */
export async function runGeneratorYielding<Value>(
  work: Generator<undefined, Value, void>,
  signal: AbortSignal,
): Promise<Result<Value, Fault>> {
  for (let step = work.next(); ; step = work.next()) {
    if (step.done === true) return ok(step.value)
    if (signal.aborted) return fail({ kind: 'cancelled', message: 'The caller went away before the check was done.' })
    await setImmediate()
  }
}

/** Runs a generator without interruption, inside of a transaction; the caller makes sure that the work is short. */
export function runGeneratorWithoutYielding<Value>(work: Generator<undefined, Value, void>): Value {
  for (let step = work.next(); ; step = work.next()) if (step.done === true) return step.value
}
