/**
 * Packet call: one call inside a packet. What the session says of it already (from whom, to whom, in which community)
 * is left out; what is left of an envelope is a list.
 *
 *   [capability, major, minor, schema hash, deadline ms, hops, trace id (a ULID), span, session or null, body]
 *
 * Pure.
 */
import { hex } from '../../core/bytes.ts'
import { chanceBytes } from '../../core/chance.ts'
import type { Call } from '../../bus/call.ts'
import type { Offer, Version } from '../../bus/capability.ts'
import { isUlid, ulid } from '../../core/ids.ts'
import { isJsonObject } from '../../core/json.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { MAX_DEPTH } from '../body.ts'
import { isCapabilityName, MAX_DEADLINE_MS, MAX_HOPS, MAX_SESSION } from '../envelope.ts'

export interface PacketCall {
  readonly capability: string
  readonly version: Version
  readonly deadlineMs: number
  readonly hops: number
  readonly schemaHash: string
  readonly traceId: string
  readonly parentSpan: string
  readonly session: string | undefined
  readonly body: JsonObject
}

/** Half of a span is this process, the other half counts: unique is all that it has to be. */
const ourHalf = hex(chanceBytes(4))
let spans = 0

function nextSpan(): string {
  spans = (spans + 1) >>> 0
  return ourHalf + spans.toString(16).padStart(8, '0')
}

const SPAN = /^[0-9a-f]{16}$/

/** The words of a call that are the same for every call of an offer. */
const known = new WeakMap<Offer, string>()

function wordsOf(offer: Offer, hash: string): string {
  let words = known.get(offer)
  if (words === undefined) {
    words = JSON.stringify([offer.name, offer.version[0], offer.version[1], hash]).slice(0, -1)
    known.set(offer, words)
  }
  return words
}

/** Throws on a body that JSON cannot say. */
export function encodePacketCall(
  offer: Offer,
  hash: string,
  { call, deadlineMs }: { readonly call: Call; readonly deadlineMs: number },
): string {
  const { traceId, sessionId, hopBudget, body } = call
  const trace = isUlid(traceId) ? traceId : ulid()
  const session = sessionId === undefined ? 'null' : JSON.stringify(sessionId.slice(0, MAX_SESSION))
  const hops = Math.max(0, hopBudget)
  return `${wordsOf(offer, hash)},${deadlineMs},${hops},"${trace}","${nextSpan()}",${session},${JSON.stringify(body)}]`
}

/** `undefined` for anything else: a member wrote it, but not every member means well. */
export function decodePacketCall(value: unknown): PacketCall | undefined {
  if (!Array.isArray(value) || value.length !== 10) return undefined
  const list: readonly unknown[] = value
  const [capability, major, minor, schemaHash, deadlineMs, hops, traceId, parentSpan, session, body] = list
  const isRight =
    typeof capability === 'string' &&
    isCapabilityName(capability) &&
    isCount(major, MAX_VERSION) &&
    isCount(minor, MAX_VERSION) &&
    isCount(deadlineMs, MAX_DEADLINE_MS) &&
    isCount(hops, MAX_HOPS) &&
    typeof schemaHash === 'string' &&
    schemaHash.length <= MAX_SCHEMA_HASH &&
    typeof traceId === 'string' &&
    isUlid(traceId) &&
    typeof parentSpan === 'string' &&
    SPAN.test(parentSpan) &&
    isTextOrNull(session, MAX_SESSION) &&
    isJsonObject(body) &&
    isShallow(body, MAX_DEPTH)
  if (!isRight) return undefined
  return {
    capability,
    version: [major, minor],
    deadlineMs,
    hops,
    schemaHash,
    traceId,
    parentSpan,
    session: session ?? undefined,
    body,
  }
}

/** Whatever walks a value walks it by recursion, as this does: it stops where others would go on. */
function isShallow(value: Json, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (levels === 0) return false
  if (Array.isArray(value)) return value.every((each) => isShallow(each, levels - 1))
  const object = value as JsonObject
  for (const key in object) if (!isShallow(object[key] ?? null, levels - 1)) return false
  return true
}

const MAX_VERSION = 9_999
const MAX_SCHEMA_HASH = 71

function isCount(value: unknown, most: number): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= most
}

function isTextOrNull(value: unknown, most: number): value is string | null {
  return value === null || (typeof value === 'string' && value.length <= most)
}
