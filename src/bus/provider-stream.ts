/**
 * Provider stream: passes the frames of a provider to the consumer of a call, one at a time, as far as they fit the
 * contract.
 */
import type { Fault } from '../core/fault.ts'
import { isJsonObject, toPlainJson } from '../core/json.ts'
import { fail } from '../core/result.ts'
import type { AttemptTimer, AttemptedCall } from './provider-attempt.ts'
import { StreamClosedError } from './call-stream.ts'
import type { Call, Outcome, StreamFrame } from './call.ts'
import type { StreamFrameEmitter } from './peer.ts'
import { checkFrameSchema } from './schema-validation.ts'

/** A generator that never waits would block the event loop, and with it its own deadline. */
const FRAMES_PER_TURN = 256

/** Passes on one frame at a time; however the loop ends, the generator's `finally` blocks run. */
export async function pumpFrames(
  frames: AsyncGenerator<StreamFrame, Outcome, void>,
  emit: StreamFrameEmitter,
  timer: AttemptTimer,
): Promise<Outcome> {
  try {
    for (let count = 1; ; count++) {
      const step = await frames.next()
      if (step.done === true) return step.value
      await emit(step.value)
      if (count % FRAMES_PER_TURN === 0) await timer.nextTurn()
    }
  } catch (error) {
    // Not awaited: a generator that waits for something else only gets to its `finally` block afterwards.
    void closeFrames(frames)
    throw error
  }
}

async function closeFrames(frames: AsyncGenerator<StreamFrame, Outcome, void>): Promise<void> {
  try {
    await frames.return(CLOSED)
  } catch {
    // Errors of its `finally` blocks are ignored: the call was already answered with the first error.
  }
}

const CLOSED: Outcome = fail({ kind: 'cancelled', message: 'the consumer of this stream is gone' })

export class InvalidStreamFrameError extends Error {
  readonly fault: Fault

  constructor(fault: Fault) {
    super(fault.message)
    this.fault = fault
  }
}

/**
 * Passes on frames that fit the contract while the consumer is there, and measures the consumer's share of the time.
 */
export function createFrameEmitter(
  { call, ticket, contract, emit = progressOf(call) }: AttemptedCall,
  timer: AttemptTimer,
): StreamFrameEmitter {
  return async (frame) => {
    const offeredMs = timer.nowMs()
    if (ticket.isOver(offeredMs)) throw new StreamClosedError('the call is over')
    const plain = readStreamFrame(frame)
    if (plain === undefined) throw new InvalidStreamFrameError(noFrame(call))
    const fault = checkFrameSchema(contract.offer, plain)
    if (fault !== undefined) throw new InvalidStreamFrameError(fault)
    ticket.frames++
    ticket.isWithConsumer = true
    try {
      await emit(plain)
    } catch (error) {
      // The consumer takes no more frames after an error of its own.
      ticket.end('cancelled', error)
      throw new StreamClosedError('the consumer is gone')
    }
    ticket.isWithConsumer = false
    ticket.consumerMs += timer.nowMs() - offeredMs
  }
}

/**
 * A caller that wants only the end of a stream still gets its progress, and a text as it grows: a client that receives
 * nothing for a minute takes a long answer for a dead one.
 */
function progressOf({ interaction }: Call): StreamFrameEmitter {
  let pieces = 0
  return (frame) => {
    if (!isJsonObject(frame.data)) return Promise.resolve()
    const { current, total, stage, text } = frame.data
    if (frame.event === 'progress' && typeof current === 'number')
      interaction?.progress?.(
        current,
        typeof total === 'number' ? total : undefined,
        typeof stage === 'string' ? stage : undefined,
      )
    if (frame.event === 'token' && typeof text === 'string') interaction?.progress?.(++pieces, undefined, text)
    return Promise.resolve()
  }
}

/** `undefined` for a value that is not a frame. */
function readStreamFrame(given: unknown): StreamFrame | undefined {
  if (typeof given !== 'object' || given === null) return undefined
  try {
    const { event, data } = given as Readonly<Record<string, unknown>>
    if (typeof event !== 'string' || data === undefined) return undefined
    return { event, data: toPlainJson(data) }
  } catch {
    return undefined
  }
}

function noFrame({ capability }: Call): Fault {
  return {
    kind: 'failed',
    code: 'internal_error',
    message: `${capability} streamed something that is not a frame. Any change it made stands.`,
  }
}
