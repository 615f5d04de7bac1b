/**
 * Provider: runs the handler behind an entry, here or on another node, and turns whatever happens into an answer.
 *
 * A handler that throws, or answers something that is no outcome (handler-outcome.ts), is a bug: the caller is told
 * that there was an internal error, the log has the details.
 *
 * Pure: handlers and the way to other nodes come from outside.
 */
import type { Fault } from '../core/fault.ts'
import { isJsonObject } from '../core/json.ts'
import { fail } from '../core/result.ts'
import { isDiskWriteError } from '../core/thrown-error.ts'
import type { ProviderAttempt, AttemptTimer, CallInAttempts } from './provider-attempt.ts'
import { StreamClosedError } from './call-stream.ts'
import type { Call, StreamFrame, Outcome } from './call.ts'
import type { CapabilityEntry } from './capability-entry.ts'
import { readOutcome, readStreamFrame } from './handler-outcome.ts'
import type { StreamFrameEmitter, RemoteProvider } from './peer.ts'
import { checkFrameSchema } from './schema.ts'

/** The part of pino's logger interface that the bus uses. */
export interface BusLog {
  readonly warn: (details: object, message: string) => void
  readonly error: (details: object, message: string) => void
}

/** What every attempt needs from outside. */
export interface ProviderDependencies {
  readonly remote: RemoteProvider | undefined
  readonly log: BusLog
  readonly timer: AttemptTimer
}

export function startProvider(attempt: ProviderAttempt, round: CallInAttempts, around: ProviderDependencies): void {
  let answer: Promise<Outcome>
  try {
    // A handler that is not async answers at once; a value that is not an outcome is detected below.
    answer = Promise.resolve(invoke(attempt.entry, round, around))
  } catch (error) {
    crash(attempt, round, { error, log: around.log })
    return
  }
  answer.then(
    (outcome) => take(attempt, round, { outcome, log: around.log }),
    (error: unknown) => crash(attempt, round, { error, log: around.log }),
  )
}

function take(
  attempt: ProviderAttempt,
  round: CallInAttempts,
  { outcome, log }: { outcome: unknown; log: BusLog },
): void {
  let answer: Outcome
  try {
    answer = readOutcome(outcome)
  } catch (error) {
    crash(attempt, round, { error, log })
    return
  }
  attempt.settle(answer.ok || !attempt.entry.isLocal ? answer : fail(begunFault(answer.fault)))
}

/** Once a handler of this node was entered, the call has begun, unless the handler says that it did nothing. */
function begunFault({ untouched, ...fault }: Fault): Fault {
  return { ...fault, begun: untouched !== true }
}

function invoke(entry: CapabilityEntry, round: CallInAttempts, around: ProviderDependencies): Promise<Outcome> {
  const { call } = round
  const { capability } = entry
  if (capability !== undefined) {
    if ('handle' in capability) return capability.handle(call)
    return pump(capability.handleStream(call), checkedEmit(round, around.timer), around.timer)
  }
  if (around.remote === undefined) return Promise.resolve(fail(noWay(entry)))
  const onward: Call = { ...call, hopBudget: call.hopBudget - 1 }
  // A caller that wants only the final answer may still want progress notifications.
  const wantsFrames = round.emit !== undefined || call.interaction?.progress !== undefined
  if (!wantsFrames || entry.offer.streamSchema === undefined) return around.remote.call(entry, onward)
  return around.remote.stream(entry, onward, checkedEmit(round, around.timer))
}

/** A generator that never waits would block the event loop, and with it its own deadline. */
const FRAMES_PER_TURN = 256

/** Passes on one frame at a time; however the loop ends, the generator's `finally` blocks run. */
async function pump(
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

const CLOSED: Outcome = fail({ kind: 'cancelled', message: 'nobody takes frames of this stream any more' })

class WrongFrame extends Error {
  readonly fault: Fault

  constructor(fault: Fault) {
    super(fault.message)
    this.fault = fault
  }
}

/**
 * Passes on frames that fit the contract while the consumer is there, and measures the consumer's share of the time.
 */
function checkedEmit(
  { call, ticket, contract, emit = progressOf(call) }: CallInAttempts,
  timer: AttemptTimer,
): StreamFrameEmitter {
  return async (frame) => {
    const offeredMs = timer.nowMs()
    if (ticket.isOver(offeredMs)) throw new StreamClosedError('the call is over')
    const plain = readStreamFrame(frame)
    if (plain === undefined) throw new WrongFrame(noFrame(call))
    const fault = checkFrameSchema(contract.offer, plain)
    if (fault !== undefined) throw new WrongFrame(fault)
    ticket.frames++
    ticket.isWithConsumer = true
    try {
      await emit(plain)
    } catch (error) {
      // Whatever the consumer threw, it takes no more frames.
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

function crash(
  attempt: ProviderAttempt,
  { call, ticket }: CallInAttempts,
  { error, log }: { error: unknown; log: BusLog },
): void {
  if (error instanceof WrongFrame) {
    attempt.settle(fail({ ...error.fault, begun: true }))
    return
  }
  if (ticket.cause === undefined && !attempt.isAbandoned)
    log.error({ err: error, capability: call.capability, traceId: call.traceId }, 'a handler threw')
  attempt.crash({ ...createInternalFault(call, error), begun: true })
}

/** The fault that a caller gets for a bug, or for a disk that could not be written. */
export function createInternalFault({ capability, traceId }: Call, error: unknown): Fault {
  const why = isDiskWriteError(error)
    ? 'because what it does could not be written down (is the disk full?)'
    : 'because of a mistake inside'
  return {
    kind: 'internal',
    code: 'internal_error',
    message: `${capability} failed ${why}. The log has it under trace ${traceId}.`,
  }
}

function noWay({ nodeId }: CapabilityEntry): Fault {
  return {
    kind: 'offline',
    code: 'partition',
    message: `This node has no way to ${nodeId}.`,
    begun: false,
    ownSide: true,
  }
}

function noFrame({ capability }: Call): Fault {
  return {
    kind: 'failed',
    code: 'internal_error',
    message: `${capability} streamed something that is no frame. What it did, it did.`,
  }
}
