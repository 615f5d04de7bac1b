/**
 * Handler outcome: turns what a handler gave back, or what came from another node, into an outcome or a frame of plain
 * data.
 *
 * Services of one's own are plain JavaScript at run time: an outcome may have getters, inherit its members from a class
 * or be an `Error`, whose message is lost when it is copied. Every member is read once and copied. What passes can be
 * recorded, encoded and shown without anybody looking again; only the data of an answer may still be no JSON, which the
 * audit finds out when it hashes it.
 */
import type { Fault, FaultKind, PolicyReason } from '../core/fault.ts'
import { isJsonObject, toPlainJson } from '../core/json.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { ContentBlock, Outcome, Reply, StreamFrame } from './call.ts'
import { FAULT_KINDS } from './error-code.ts'

/** Throws on what is no outcome. */
export function readOutcome(given: unknown): Outcome {
  const { ok: isOk, value, fault } = requireObject(given, 'an outcome')
  if (isOk === true) return ok(readReply(value))
  if (isOk === false) return fail(readFault(fault))
  throw new TypeError('a handler answered with no outcome')
}

/** `undefined` for what is no frame. */
export function readStreamFrame(given: unknown): StreamFrame | undefined {
  try {
    const { event, data } = requireObject(given, 'a frame')
    if (typeof event !== 'string' || data === undefined) return undefined
    return { event, data: toPlainJson(data) }
  } catch {
    return undefined
  }
}

function readReply(given: unknown): Reply {
  const { data, content, usage, inputRequired, replayed, from } = requireObject(given, 'a reply')
  if (data === undefined) throw new TypeError('a handler answered without data')
  // True for nearly all replies.
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
  throw new TypeError('a handler answered with content that is no list of blocks')
}

function isContentBlock(block: Json): block is ContentBlock {
  return isJsonObject(block) && typeof block['type'] === 'string'
}

/** Counters only grow: what is no number of tokens would make the metrics of the whole node unreadable. */
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
  if (!isFaultKind(kind)) throw new TypeError('a handler answered with a fault of no known kind')
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
  throw new TypeError('a handler answered with a retryAfterMs that is no time')
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
  throw new TypeError(`a handler answered with ${what} that is no object`)
}

function readText(given: unknown, what: string): string {
  if (typeof given === 'string') return given
  throw new TypeError(`a handler answered with ${what} that is no text`)
}

function requireObject(given: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof given === 'object' && given !== null) return given as Readonly<Record<string, unknown>>
  throw new TypeError(`a handler answered with what is not ${what}`)
}
