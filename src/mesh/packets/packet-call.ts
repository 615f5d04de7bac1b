/**
 * Packet call: one call inside of a packet. The fields that follow from the session (sender, receiver, community) are
 * left out; the rest of an envelope is a list.
 *
 *   [contract, deadline ms, hops, trace id (a ULID), span, session or null, body, actor]
 *
 * where the contract is [capability, major, minor, schema hash], or null for that of the previous call in its packet:
 * calls of one moment mostly have the same contract. The actor is present if the session supports it.
 */
import { toHex } from '../../core/bytes.ts'
import { randomBytes, isUlid, newUlid } from '../../core/ids.ts'
import type { Call } from '../../bus/call.ts'
import type { Offer, CapabilityVersion } from '../../bus/capability.ts'
import { isJsonObject } from '../../core/json.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { isActorName } from '../actor-name.ts'
import { MAX_MESH_BODY_DEPTH } from '../message-body.ts'
import { isCapabilityName, MAX_CALL_DEADLINE_MS, MAX_HOP_BUDGET, MAX_SESSION_NAME_LENGTH } from '../mesh-envelope.ts'

/** The contract that is called. */
interface Contract {
  readonly capability: string
  readonly version: CapabilityVersion
  readonly schemaHash: string
}

export interface PacketCall extends Contract {
  readonly deadlineMs: number
  readonly hops: number
  readonly traceId: string
  readonly parentSpan: string
  readonly session: string | undefined
  readonly body: JsonObject
  readonly actor: string | undefined
}

/** Half of a span identifies this process, and the other half counts, which makes it unique. */
const ourHalf = toHex(randomBytes(4))
let spans = 0

function nextSpan(): string {
  spans = (spans + 1) >>> 0
  return ourHalf + spans.toString(16).padStart(8, '0')
}

const SPAN = /^[0-9a-f]{16}$/

/** A call as a text; its contract is left out of a packet if it is that of the previous call. */
export interface PacketCallText {
  readonly contract: string
  readonly rest: string
}

export function countPacketCallBytes({ contract, rest }: PacketCallText): number {
  return contract.length + rest.length
}

const contracts = new WeakMap<Offer, string>()

function contractText(offer: Offer, hash: string): string {
  let text = contracts.get(offer)
  if (text === undefined) {
    text = JSON.stringify([offer.name, offer.version[0], offer.version[1], hash])
    contracts.set(offer, text)
  }
  return text
}

/** Throws on a body that has no JSON text. */
export function encodePacketCall(
  offer: Offer,
  hash: string,
  {
    call,
    deadlineMs,
    actor,
  }: { readonly call: Call; readonly deadlineMs: number; readonly actor?: string | undefined },
): PacketCallText {
  const { traceId, sessionId, hopBudget, body } = call
  const trace = isUlid(traceId) ? traceId : newUlid()
  const session = sessionId === undefined ? 'null' : JSON.stringify(sessionId.slice(0, MAX_SESSION_NAME_LENGTH))
  const hops = Math.max(0, hopBudget)
  // An actor has no character that JSON would escape.
  const tail = actor === undefined ? '' : `,"${actor}"`
  const rest = `${deadlineMs},${hops},"${trace}","${nextSpan()}",${session},${JSON.stringify(body)}${tail}`
  return { contract: contractText(offer, hash), rest }
}

/** The list of calls in a packet, each after a comma. */
export function joinPacketCallTexts(texts: readonly PacketCallText[]): string {
  let list = ''
  let before = ''
  for (const { contract, rest } of texts) {
    list += `,[${contract === before ? 'null' : contract},${rest}]`
    before = contract
  }
  return list
}

/**
 * Returns `undefined` for anything else: a member sent it, but members may be hostile. `before` is the previous call in
 * its packet.
 */
export function decodePacketCallArray(value: unknown, before: PacketCall | undefined): PacketCall | undefined {
  if (!Array.isArray(value) || (value.length !== 7 && value.length !== 8)) return undefined
  const [named, deadlineMs, hops, traceId, parentSpan, session, body, actor] = value as readonly unknown[]
  const contract = named === null ? before : decodeContract(named)
  const isRight =
    contract !== undefined &&
    isCount(deadlineMs, MAX_CALL_DEADLINE_MS) &&
    isCount(hops, MAX_HOP_BUDGET) &&
    typeof traceId === 'string' &&
    isUlid(traceId) &&
    typeof parentSpan === 'string' &&
    SPAN.test(parentSpan) &&
    isTextOrNull(session, MAX_SESSION_NAME_LENGTH) &&
    isJsonObject(body) &&
    isShallow(body, MAX_MESH_BODY_DEPTH) &&
    isActorOrAbsent(actor)
  if (!isRight) return undefined
  const { capability, version, schemaHash } = contract
  return {
    capability,
    version,
    schemaHash,
    deadlineMs,
    hops,
    traceId,
    parentSpan,
    session: session ?? undefined,
    body,
    actor,
  }
}

function decodeContract(value: unknown): Contract | undefined {
  if (!Array.isArray(value) || value.length !== 4) return undefined
  const [capability, major, minor, schemaHash] = value as readonly unknown[]
  const isRight =
    typeof capability === 'string' &&
    isCapabilityName(capability) &&
    isCount(major, MAX_VERSION) &&
    isCount(minor, MAX_VERSION) &&
    typeof schemaHash === 'string' &&
    schemaHash.length <= MAX_SCHEMA_HASH
  return isRight ? { capability, version: [major, minor], schemaHash } : undefined
}

/** Functions descend into values by recursion, as this one does; it stops at the limit. */
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

function isActorOrAbsent(value: unknown): value is string | undefined {
  return value === undefined || (typeof value === 'string' && isActorName(value))
}

function isTextOrNull(value: unknown, most: number): value is string | null {
  return value === null || (typeof value === 'string' && value.length <= most)
}
