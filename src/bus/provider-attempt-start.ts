/**
 * Provider attempt start: runs the handler behind an entry, here or on another node, and turns whatever happens into an
 * answer.
 *
 * A handler that throws, or answers something that is no outcome, is a bug: the caller is told that there was an
 * internal error, the log has the details.
 *
 * Services from outside are plain JavaScript at run time: an outcome may have getters, inherit its members from a class
 * or be an `Error`, whose message is lost when it is copied. Every member is read once and copied. What passes can be
 * recorded, encoded and shown without anybody looking again; only the data of an answer may still be no JSON, which the
 * audit finds out when it hashes it.
 */
import type { Fault, FaultKind, PolicyReason } from '../core/fault.ts'
import { isJsonObject, toPlainJson } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import { isDiskWriteError } from '../core/thrown-error.ts'
import type { ProviderAttempt, AttemptTimer, AttemptedCall } from './provider-attempt.ts'
import type { Call, ContentBlock, Outcome, Reply } from './call.ts'
import type { CapabilityEntry } from './capability-entry.ts'
import { FAULT_KINDS } from './error-code.ts'
import type { RemoteProviderClient } from './peer.ts'
import { InvalidStreamFrameError, createFrameEmitter, pumpFrames } from './provider-stream.ts'

/** The part of pino's logger interface that the bus uses. */
export interface BusLogger {
  readonly warn: (details: object, message: string) => void
  readonly error: (details: object, message: string) => void
}

/** What every attempt needs from outside. */
export interface ProviderAttemptDependencies {
  readonly remote: RemoteProviderClient | undefined
  readonly log: BusLogger
  readonly timer: AttemptTimer
}

export function startProviderAttempt(
  attempt: ProviderAttempt,
  round: AttemptedCall,
  around: ProviderAttemptDependencies,
): void {
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
  round: AttemptedCall,
  { outcome, log }: { outcome: unknown; log: BusLogger },
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

function invoke(entry: CapabilityEntry, round: AttemptedCall, around: ProviderAttemptDependencies): Promise<Outcome> {
  const { call } = round
  const { capability } = entry
  if (capability !== undefined) {
    if ('handle' in capability) return capability.handle(call)
    return pumpFrames(capability.handleStream(call), createFrameEmitter(round, around.timer), around.timer)
  }
  if (around.remote === undefined) return Promise.resolve(fail(noWay(entry)))
  const nextHopCall: Call = { ...call, hopBudget: call.hopBudget - 1 }
  // A caller that wants only the final answer may still want progress notifications.
  const wantsFrames = round.emit !== undefined || call.interaction?.progress !== undefined
  if (!wantsFrames || entry.offer.streamSchema === undefined) return around.remote.call(entry, nextHopCall)
  return around.remote.stream(entry, nextHopCall, createFrameEmitter(round, around.timer))
}

function crash(
  attempt: ProviderAttempt,
  { call, ticket }: AttemptedCall,
  { error, log }: { error: unknown; log: BusLogger },
): void {
  if (error instanceof InvalidStreamFrameError) {
    attempt.settle(fail({ ...error.fault, begun: true }))
    return
  }
  if (ticket.cause === undefined && !attempt.isAbandoned)
    log.error({ err: error, capability: call.capability, traceId: call.traceId }, 'a handler threw')
  attempt.crash({ ...createProviderInternalFault(call, error), begun: true })
}

/** The fault that a caller gets for a bug, or for a disk that could not be written. */
export function createProviderInternalFault({ capability, traceId }: Call, error: unknown): Fault {
  const why = isDiskWriteError(error)
    ? 'because the call could not be recorded (is the disk full?)'
    : 'because of an internal error'
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
    message: `This node has no route to ${nodeId}.`,
    begun: false,
    ownSide: true,
  }
}

/** Throws on what is no outcome. */
function readOutcome(given: unknown): Outcome {
  const { ok: isOk, value, fault } = requireObject(given, 'an outcome')
  if (isOk === true) return ok(readReply(value))
  if (isOk === false) return fail(readFault(fault))
  throw new TypeError('a handler answered with no outcome')
}

function readReply(given: unknown): Reply {
  const { data, content, usage, inputRequired, replayed, from } = requireObject(given, 'a reply')
  if (data === undefined) throw new TypeError('a handler answered without data')
  // Nearly all replies have none of these members.
  if ((content ?? usage ?? inputRequired ?? replayed ?? from) === undefined) return { data: data as Json }
  return {
    data: data as Json,
    ...(content === undefined ? {} : { content: readContent(content) }),
    ...(usage === undefined ? {} : { usage: readUsage(usage) }),
    ...(inputRequired === undefined ? {} : { inputRequired: readInputRequest(inputRequired) }),
    ...(replayed === true ? { replayed } : {}),
    ...(from === undefined ? {} : { from: readOrigin(from) }),
  }
}

function readContent(given: unknown): readonly ContentBlock[] {
  const blocks = toPlainJson(given)
  if (Array.isArray(blocks) && blocks.every(isContentBlock)) return blocks
  throw new TypeError('a handler answered with content that is not a list of blocks')
}

function isContentBlock(block: Json): block is ContentBlock {
  return isJsonObject(block) && typeof block['type'] === 'string'
}

/**
 * These counters only grow: one value that is not a number of tokens would make the metrics of the whole node
 * unreadable.
 */
function readUsage(given: unknown): NonNullable<Reply['usage']> {
  const { tokensIn, tokensOut } = requireObject(given, 'a usage')
  return {
    ...(isTokenCount(tokensIn) ? { tokensIn } : {}),
    ...(isTokenCount(tokensOut) ? { tokensOut } : {}),
  }
}

function isTokenCount(count: unknown): count is number {
  return Number.isSafeInteger(count) && Number(count) >= 0
}

function readInputRequest(given: unknown): NonNullable<Reply['inputRequired']> {
  const { requests, state, node } = requireObject(given, 'a request for input')
  return {
    requests: readJsonObject(requests, 'requests'),
    ...(state === undefined ? {} : { state: readText(state, 'state') }),
    ...(node === undefined ? {} : { node: readText(node, 'node') }),
  }
}

function readOrigin(given: unknown): NonNullable<Reply['from']> {
  const { node, device } = requireObject(given, 'an origin')
  return {
    ...(node === undefined ? {} : { node: readText(node, 'node') }),
    ...(device === undefined ? {} : { device: readText(device, 'device') }),
  }
}

const KINDS: ReadonlySet<unknown> = new Set<FaultKind>(FAULT_KINDS)
/** What a record keeps of a sentence. */
const MAX_MESSAGE_LENGTH = 16_384
const MAX_RETRY_AFTER_MS = 86_400_000

function readFault(given: unknown): Fault {
  const fault = requireObject(given, 'a fault')
  const { kind, code, message, retryAfterMs, reasons, details, replayed, begun, untouched, ownSide } = fault
  if (!isFaultKind(kind)) throw new TypeError('a handler answered with a fault of an unknown kind')
  return {
    kind,
    message: readText(message, 'message').slice(0, MAX_MESSAGE_LENGTH).toWellFormed(),
    ...(code === undefined ? {} : { code: readText(code, 'code') }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs: readDelay(retryAfterMs) }),
    ...(reasons === undefined ? {} : { reasons: readReasons(reasons) }),
    ...(details === undefined ? {} : { details: readJsonObject(details, 'details') }),
    ...(replayed === true ? { replayed } : {}),
    ...(typeof begun === 'boolean' ? { begun } : {}),
    ...(untouched === true ? { untouched } : {}),
    ...(ownSide === true ? { ownSide } : {}),
  }
}

function isFaultKind(kind: unknown): kind is FaultKind {
  return KINDS.has(kind)
}

function readDelay(ms: unknown): number {
  if (typeof ms === 'number' && ms >= 0) return Math.min(ms, MAX_RETRY_AFTER_MS)
  throw new TypeError('a handler answered with a retryAfterMs that is not a time')
}

function readReasons(given: unknown): readonly PolicyReason[] {
  if (!Array.isArray(given)) throw new TypeError('a handler answered with reasons that are no list')
  return given.map((reason: unknown) => {
    const plain = readJsonObject(reason, 'a reason')
    const rule = readText(plain['rule'], 'rule')
    return { ...plain, rule, message: readText(plain['message'], 'message') }
  })
}

function readJsonObject(given: unknown, what: string): JsonObject {
  const plain = toPlainJson(given)
  if (isJsonObject(plain)) return plain
  throw new TypeError(`a handler answered with ${what} that is not an object`)
}

function readText(given: unknown, what: string): string {
  if (typeof given === 'string') return given
  throw new TypeError(`a handler answered with ${what} that is not a text`)
}

function requireObject(given: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof given === 'object' && given !== null) return given as Readonly<Record<string, unknown>>
  throw new TypeError(`a handler answered with what is not ${what}`)
}
