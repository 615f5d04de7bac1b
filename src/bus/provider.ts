/**
 * Provider: starts the work behind an entry, here or on another node, and turns whatever happens into an answer.
 *
 * A handler that throws is our own mistake: the caller hears that there was one, the log hears what it was.
 *
 * Pure: handlers and the way to other nodes come from outside.
 */
import type { Fault } from '../core/fault.ts'
import { isJsonObject } from '../core/json.ts'
import { fail } from '../core/result.ts'
import { isUnwritable } from '../core/thrown.ts'
import type { Attempt, AttemptTimer, Round } from './attempt.ts'
import { StreamClosed } from './call-stream.ts'
import type { Call, Frame, Outcome } from './call.ts'
import type { CapabilityEntry } from './entry.ts'
import type { Emit, RemoteProvider } from './peer.ts'
import { wrongFrame } from './schema.ts'

/** What pino's loggers look like to us. */
export interface BusLog {
  readonly warn: (details: object, message: string) => void
  readonly error: (details: object, message: string) => void
}

/** What every attempt needs of its surroundings. */
export interface Surroundings {
  readonly remote: RemoteProvider | undefined
  readonly log: BusLog
  readonly timer: AttemptTimer
}

export function startProvider(attempt: Attempt, round: Round, around: Surroundings): void {
  let answer: Promise<Outcome>
  try {
    answer = invoke(attempt.entry, round, around)
  } catch (error) {
    crash(attempt, round, { error, log: around.log })
    return
  }
  answer.then(
    (outcome) =>
      isOutcome(outcome) ? attempt.settle(outcome) : crash(attempt, round, { error: NO_OUTCOME, log: around.log }),
    (error: unknown) => crash(attempt, round, { error, log: around.log }),
  )
}

const NO_OUTCOME = new TypeError('a handler answered with no outcome')

/** Types end where plugins and wires begin. */
function isOutcome(outcome: Outcome | undefined): outcome is Outcome {
  return typeof outcome === 'object' && typeof outcome.ok === 'boolean'
}

function invoke(entry: CapabilityEntry, round: Round, around: Surroundings): Promise<Outcome> {
  const { call } = round
  const { capability } = entry
  if (capability !== undefined) {
    if ('handle' in capability) return capability.handle(call)
    return pump(capability.handleStream(call), checkedEmit(entry, round, around.timer))
  }
  if (around.remote === undefined) return Promise.resolve(fail(noWay(entry)))
  const onward: Call = { ...call, hopBudget: call.hopBudget - 1 }
  // A caller who wants only the end may still want to hear of progress.
  const wantsFrames = round.emit !== undefined || call.interaction?.progress !== undefined
  if (!wantsFrames || entry.offer.streamSchema === undefined) return around.remote.call(entry, onward)
  return around.remote.stream(entry, onward, checkedEmit(entry, round, around.timer))
}

/** One frame at a time; whatever ends the loop, the generator's `finally` blocks run. */
async function pump(frames: AsyncGenerator<Frame, Outcome, void>, emit: Emit): Promise<Outcome> {
  try {
    for (;;) {
      const step = await frames.next()
      if (step.done === true) return step.value
      await emit(step.value)
    }
  } catch (error) {
    // Not awaited: a generator that waits for something else gets to it when that is over.
    void frames.return(CLOSED).catch(() => undefined)
    throw error
  }
}

const CLOSED: Outcome = fail({ kind: 'cancelled', message: 'nobody takes frames of this stream any more' })

class WrongFrame extends Error {
  readonly fault: Fault

  constructor(fault: Fault) {
    super(fault.message)
    this.fault = fault
  }
}

/**
 * Lets frames through that fit the contract, while somebody is there; keeps count of the consumer's share of the time.
 */
function checkedEmit(
  entry: CapabilityEntry,
  { call, ticket, emit = progressOf(call) }: Round,
  timer: AttemptTimer,
): Emit {
  return async (frame) => {
    if (ticket.cause !== undefined) throw new StreamClosed('the call is over')
    const fault = wrongFrame(entry.offer, frame)
    if (fault !== undefined) throw new WrongFrame(fault)
    ticket.frames++
    const offeredMs = timer.nowMs()
    ticket.isWithConsumer = true
    try {
      await emit(frame)
    } catch (error) {
      // Whatever the consumer's side threw, it takes no more frames.
      ticket.end('cancelled', error)
      throw new StreamClosed('the consumer is gone')
    }
    ticket.isWithConsumer = false
    ticket.consumerMs += timer.nowMs() - offeredMs
  }
}

/**
 * Somebody who wants only the end of a stream still hears of its progress, and of a text as it grows: a client that
 * hears nothing for a minute takes a long answer for a dead one.
 */
function progressOf({ interaction }: Call): Emit {
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

function crash(attempt: Attempt, { call, ticket }: Round, { error, log }: { error: unknown; log: BusLog }): void {
  if (error instanceof WrongFrame) {
    attempt.settle(fail(error.fault))
    return
  }
  if (ticket.cause === undefined && !attempt.isAbandoned)
    log.error({ err: error, capability: call.capability, traceId: call.traceId }, 'a handler threw')
  attempt.crash(mistakeInside(call, error))
}

/** What a caller hears of a mistake of ours, or of a disk that took nothing while it worked. */
export function mistakeInside({ capability, traceId }: Call, error: unknown): Fault {
  const why = isUnwritable(error)
    ? 'because what it does could not be written down (is the disk full?)'
    : 'because of a mistake inside'
  return {
    kind: 'internal',
    code: 'internal_error',
    message: `${capability} failed ${why}. The log has it under trace ${traceId}.`,
  }
}

function noWay({ nodeId }: CapabilityEntry): Fault {
  return { kind: 'offline', code: 'partition', message: `This node has no way to ${nodeId}.` }
}
