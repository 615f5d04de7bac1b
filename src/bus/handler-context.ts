/**
 * Handler context: a call as the handler that works on it sees it, with the way to call on.
 *
 *   context.call(name, body)      an answer          both carry on caller, trace, deadline, cancellation, held locks
 *   context.stream(name, body)    frames, answer     and rehearsal, and pass the whole pipeline for themselves
 *
 * Pure: the bus does the work.
 */
import type { JsonObject } from '../core/json.ts'
import type { CallStream } from './call-stream.ts'
import type { Call, OnwardCalls, OnwardOptions, Outcome } from './call.ts'
import type { CapabilityName } from './capability.ts'

export interface HandlerContext extends Call {
  /** Never rejects. */
  readonly call: (this: Call, name: CapabilityName, body: JsonObject, options?: OnwardOptions) => Promise<Outcome>
  readonly stream: (this: Call, name: CapabilityName, body: JsonObject, options?: OnwardOptions) => CallStream
}

/**
 * The bus makes every call with both functions. They look at the call that they are called on, so that one that a stage
 * has copied with a lock or a parsed body carries these on, and nothing has to be made per handler.
 */
export const ONWARD: Pick<HandlerContext, 'call' | 'stream'> = { call: callOnward, stream: streamOnward }

export function handlerContext(call: Call | HandlerContext): HandlerContext {
  return 'call' in call ? call : { ...call, ...ONWARD }
}

function callOnward(this: Call, name: CapabilityName, body: JsonObject, options?: OnwardOptions): Promise<Outcome> {
  return onwardOf(this).call(this, name, body, options)
}

function streamOnward(this: Call, name: CapabilityName, body: JsonObject, options?: OnwardOptions): CallStream {
  return onwardOf(this).stream(this, name, body, options)
}

/** Every call that the bus hands out has it; one that was built from nothing leads nowhere. */
function onwardOf({ onward, capability }: Call): OnwardCalls {
  if (onward === undefined) throw new TypeError(`a call of ${capability} that no bus carries cannot call on`)
  return onward
}
