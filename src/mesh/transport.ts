/**
 * Transport: how a sealed message gets to another node and its answer back. HTTP and NATS are two; the contract suite
 * in test/contracts is what both keep.
 */
import type { StreamFrameEmitter } from '../bus/peer.ts'
import type { Fault } from '../core/fault.ts'
import type { Result } from '../core/result.ts'
import type { EnvelopeFields } from './mesh-envelope.ts'

/** Where a node can be reached. */
export type PeerEndpoint =
  | { readonly transport: 'http'; readonly host: string; readonly port: number }
  | { readonly transport: 'nats' }

/** What the bus keeps as a remote entry's endpoint. */
export interface PeerAddress {
  readonly nodeId: string
  readonly endpoints: readonly PeerEndpoint[]
}

/** Where to send, and whose key has to be at the far end. */
export interface MessageDestination<Kind extends PeerEndpoint['transport'] = PeerEndpoint['transport']> {
  readonly nodeId: string
  readonly endpoint: Extract<PeerEndpoint, { transport: Kind }>
}

export function formatDestinationKey(nodeId: string, endpoint: PeerEndpoint): string {
  return endpoint.transport === 'http' ? `${nodeId} ${endpoint.host} ${endpoint.port}` : nodeId
}

export interface MeshMessage {
  readonly fields: EnvelopeFields
  readonly proof: string
  readonly body: string
  /** Whether it may be carried out twice: what a lost answer means depends on it. */
  readonly idempotent: boolean
}

export interface DeliveredAnswer {
  readonly status: number
  readonly text: string
  readonly proof: string
  /** It was sent a second time under the same id, since the first may not have arrived. */
  readonly resent?: boolean
}

export interface DeliveredStreamEnd extends DeliveredAnswer {
  /** How many frames came before. */
  readonly frames: number
}

/** The fault of a transport is honest about whether anything was sent: `offline` means that nothing was. */
export interface MeshTransport<Kind extends PeerEndpoint['transport'] = PeerEndpoint['transport']> {
  readonly name: Kind
  readonly send: (
    to: MessageDestination<Kind>,
    message: MeshMessage,
    signal: AbortSignal,
  ) => Promise<Result<DeliveredAnswer, Fault>>
  /** Frames come one by one: the next is asked for when `emit` has resolved. */
  readonly stream: (
    to: MessageDestination<Kind>,
    message: MeshMessage,
    options: { readonly signal: AbortSignal; readonly emit: StreamFrameEmitter },
  ) => Promise<Result<DeliveredStreamEnd, Fault>>
  /** What carries packets to a node; a promise while it is being made. Without one, messages of their own go. */
  readonly wire?: (to: MessageDestination<Kind>) => PacketConnection | Promise<PacketConnection | undefined> | undefined
  /** Who hears what comes back. */
  readonly onPackets?: (events: PacketConnectionListener) => void
}

/** An open connection to one node. */
export interface PacketConnection {
  readonly nodeId: string
  /** Whether an answer can get lost without the wire breaking. */
  readonly mayLose: boolean
  /** Kept by whoever calls through it. */
  inFlight: number
  /** `false` when nothing of it left. The number is told to `nobody` where a broker finds nobody. */
  readonly send: (packet: string, keyId: string, number: number) => boolean
  /** A call that was sent then has not been answered. */
  readonly doubt: (sinceMs: number) => void
}

export interface PacketConnectionListener {
  readonly hear: (packet: string) => void
  readonly broke: (wire: PacketConnection, why: string) => void
  readonly nobody: (keyId: string, number: number) => void
  readonly tick: () => void
}

export function createUnreachableFault(nodeId: string, why: string): Fault {
  const sentence = `${nodeId} cannot be reached: ${why.replace(/\.$/, '')}. Nothing was sent.`
  return { kind: 'offline', code: 'partition', message: sentence, begun: false }
}

/** It is this node that has no connection: the other one may be as well as ever. */
export function createDisconnectedFault(nodeId: string, why: string): Fault {
  return { ...createUnreachableFault(nodeId, why), ownSide: true }
}

/** The line broke between question and answer. */
export function createLostAnswerFault(nodeId: string, idempotent: boolean, why: string): Fault {
  if (idempotent)
    return { kind: 'failed', code: 'partition', message: `${nodeId} went away before it answered: ${why}.` }
  return {
    kind: 'unknown-outcome',
    code: 'partition',
    message: `${nodeId} went away before it answered: ${why}. It may or may not have done it: look before trying again.`,
  }
}

export function createCancelledSendFault(): Fault {
  return { kind: 'cancelled', code: 'cancelled', message: 'The call was withdrawn.' }
}

/** Why a signal has aborted, in the bus's words. */
export function readAbortCause({ reason }: AbortSignal): 'deadline' | 'cancelled' {
  return reason instanceof DOMException && reason.name === 'TimeoutError' ? 'deadline' : 'cancelled'
}
