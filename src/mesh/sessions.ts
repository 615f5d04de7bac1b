/**
 * Sessions: the session keys this node shares with others. As provider it keeps those that it issued; as caller those
 * that it received. Nothing here outlives the process: after a restart the next call makes a new one.
 *
 * Pure: time is an argument.
 */
import type { KeyObject } from 'node:crypto'
import { toBase64url } from '../core/bytes.ts'
import { randomBytes } from '../core/ids.ts'
import type { Clock } from '../core/clock.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { computeTextMac, createEphemeralKey, SESSION_ID_LENGTH, deriveSessionKey } from './identity/session-key.ts'
import type { EphemeralKey } from './identity/session-key.ts'
import { DEFAULT_CALLS_PER_PACKET, MAX_CALLS_PER_PACKET } from './packets/packet.ts'

const MESH_SESSION_LIFETIME_MS = 3_600_000
/** The version of the packet format, `hbp2`. A node with another version is sent messages instead. */
const PACKETS = 2
/** The version of the actor field. A node that does not announce it is sent no actors. */
const ACTORS = 1
/** The newest keys of one peer, enough for two transports and a restart or two within the hour. */
const MAX_PER_PEER = 8

export interface MeshSession {
  readonly id: string
  readonly peer: string
  readonly key: KeyObject
  readonly endsMs: number
  /** Whether the other side accepts packets. */
  readonly takesPackets: boolean
  /** How many calls the other side accepts in one packet. */
  readonly callsPerPacket: number
  /** Whether the other side supports the actor field. */
  readonly takesActors: boolean
  /** The tokens that packets contain instead of MACs, if both sides omit MACs (ADR 62). */
  readonly tokens: PacketSessionTokens | undefined
}

export interface PacketSessionTokens {
  readonly call: string
  readonly answer: string
}

/**
 * How packets are proven: `none` means a token instead of a MAC, and never means that packets are not authenticated.
 */
export type PacketProofMode = 'session' | 'none'

/** The provider's sessions. Only members get one, so their number is limited by the community's size. */
export class IssuedSessions {
  readonly #self: string
  readonly #clock: Clock
  readonly #signatures: PacketProofMode
  readonly #byId = new Map<string, MeshSession>()
  readonly #byPeer = new Map<string, string[]>()

  constructor(self: string, clock: Clock, signatures: PacketProofMode = 'session') {
    this.#self = self
    this.#clock = clock
    this.#signatures = signatures
  }

  /** Answers a handshake; `undefined` when the caller's key is invalid. */
  give(caller: string, callerKey: string, wanted: PacketProofMode = 'session'): JsonObject | undefined {
    const own = createEphemeralKey()
    const id = toBase64url(randomBytes(16))
    const parties = { sessionId: id, from: caller, to: this.#self, callerKey, providerKey: own.publicKey }
    const key = deriveSessionKey(own, callerKey, parties)
    if (key === undefined) return undefined
    const ids = this.#byPeer.get(caller) ?? []
    this.#byPeer.set(caller, ids)
    ids.push(id)
    for (const old of ids.splice(0, Math.max(0, ids.length - MAX_PER_PEER))) this.#byId.delete(old)
    // Either side alone can insist on proofs.
    const signatures = this.#signatures === 'none' ? wanted : 'session'
    const endsMs = this.#clock.monotonic() + MESH_SESSION_LIFETIME_MS
    const tokens = tokensFor(key, signatures)
    const taken = { takesPackets: true, callsPerPacket: MAX_CALLS_PER_PACKET, takesActors: true }
    this.#byId.set(id, { id, peer: caller, key, endsMs, ...taken, tokens })
    return {
      session_id: id,
      ephemeral: own.publicKey,
      expires_in_seconds: MESH_SESSION_LIFETIME_MS / 1_000,
      packets: PACKETS,
      packet_calls: MAX_CALLS_PER_PACKET,
      actors: ACTORS,
      signatures,
    }
  }

  find(id: string): MeshSession | undefined {
    const session = this.#byId.get(id)
    return session !== undefined && session.endsMs > this.#clock.monotonic() ? session : undefined
  }

  /** The peer was revoked. */
  forget(peer: string): void {
    for (const id of this.#byPeer.get(peer) ?? []) this.#byId.delete(id)
    this.#byPeer.delete(peer)
  }
}

/** A session that the caller has proposed and the provider has not answered yet. */
export interface SessionProposal {
  readonly ephemeral: EphemeralKey
  readonly signatures: PacketProofMode
  readonly body: JsonObject
}

export function createSessionProposal(signatures: PacketProofMode = 'session'): SessionProposal {
  const ephemeral = createEphemeralKey()
  return { ephemeral, signatures, body: { ephemeral: ephemeral.publicKey, signatures } }
}

/** Returns `undefined` when the provider's answer is not a valid session. */
export function completeSessionFromAnswer(
  { ephemeral, signatures }: SessionProposal,
  answer: JsonObject,
  { self, peer, nowMs }: { readonly self: string; readonly peer: string; readonly nowMs: number },
): MeshSession | undefined {
  const { session_id: id, ephemeral: providerKey, expires_in_seconds: seconds, signatures: given } = answer
  if (typeof id !== 'string' || id.length > 64 || typeof providerKey !== 'string' || typeof seconds !== 'number')
    return undefined
  const parties = { sessionId: id, from: self, to: peer, callerKey: ephemeral.publicKey, providerKey }
  const key = deriveSessionKey(ephemeral, providerKey, parties)
  // A little less than the provider's hour, so that a call cannot arrive just after its end.
  const lifeMs = Math.min(seconds * 1_000, MESH_SESSION_LIFETIME_MS) * 0.9
  if (key === undefined) return undefined
  const tokens = tokensFor(key, given === 'none' ? signatures : 'session')
  return {
    id,
    peer,
    key,
    endsMs: nowMs + lifeMs,
    takesPackets: answer['packets'] === PACKETS && id.length === SESSION_ID_LENGTH,
    callsPerPacket: callsPerPacket(answer['packet_calls']),
    takesActors: answer['actors'] === ACTORS,
    tokens,
  }
}

/** An older node announces nothing, and would not read a larger packet. */
function callsPerPacket(value: Json | undefined): number {
  return typeof value === 'number' && value > DEFAULT_CALLS_PER_PACKET
    ? Math.min(value, MAX_CALLS_PER_PACKET)
    : DEFAULT_CALLS_PER_PACKET
}

/** One token for each direction, so that a party that has seen an answer cannot make a call. */
function tokensFor(key: KeyObject, signatures: PacketProofMode): PacketSessionTokens | undefined {
  if (signatures === 'session') return undefined
  return {
    call: `token:${computeTextMac(key, 'packet token call')}`,
    answer: `token:${computeTextMac(key, 'packet token answer')}`,
  }
}
