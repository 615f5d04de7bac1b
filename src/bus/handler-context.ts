/**
 * Handler context: a call as the handler that works on it sees it, with the way to call on.
 *
 *   context.call(name, body)      an answer          both carry on caller, trace, deadline, cancellation, held locks
 *   context.stream(name, body)    frames, answer     and rehearsal, and pass the whole pipeline for themselves
 *
 * Pure: the bus does the work.
 */
import type { CallStream } from './call-stream.ts'
import type { Call, OnwardCalls, OnwardOptions, Outcome } from './call.ts'
import type { CapabilityName } from './capability.ts'
import type { JsonObject } from '../core/json.ts'

export interface HandlerContext extends Call {
  /** Never rejects. */
  readonly call: (name: CapabilityName, body: JsonObject, options?: OnwardOptions) => Promise<Outcome>
  readonly stream: (name: CapabilityName, body: JsonObject, options?: OnwardOptions) => CallStream
}

export function handlerContext(call: Call): HandlerContext {
  return {
    ...call,
    call: (name, body, options) => onwardOf(call).call(call, name, body, options),
    stream: (name, body, options) => onwardOf(call).stream(call, name, body, options),
  }
}

/** Every call that the bus hands out has it; one that was built from nothing leads nowhere. */
function onwardOf({ onward, capability }: Call): OnwardCalls {
  if (onward === undefined) throw new TypeError(`a call of ${capability} that no bus carries cannot call on`)
  return onward
}
