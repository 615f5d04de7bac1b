/**
 * Transport: sends a sealed message to another node and returns its answer. HTTP and NATS are the two implementations;
 * both pass the contract suite in test/contracts.
 */
import type { StreamFrameEmitter } from '../bus/peer.ts'
import type { Fault } from '../core/fault.ts'
import type { Result } from '../core/result.ts'
import type { EnvelopeFields } from './mesh-envelope.ts'

/** Where a node can be reached. */
export type PeerEndpoint =
  | { readonly transport: 'http'; readonly host: string; readonly port: number }
  | { readonly transport: 'nats' }

/** The endpoint that the bus stores in a remote entry. */
export interface PeerAddress {
  readonly nodeId: string
  readonly endpoints: readonly PeerEndpoint[]
}

/** Where to send, and the id of the node whose key must be at the far end. */
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
  /** Whether the call may be carried out twice; the meaning of a lost answer depends on it. */
  readonly idempotent: boolean
}

export interface DeliveredAnswer {
  readonly status: number
  readonly text: string
  readonly proof: string
  /** The message was sent a second time with the same id, because the first may not have arrived. */
  readonly resent?: boolean
}

export interface DeliveredStreamEnd extends DeliveredAnswer {
  /** How many frames came before. */
  readonly frames: number
}

/** A transport's fault must state correctly whether anything was sent: `offline` means that nothing was. */
export interface MeshTransport<Kind extends PeerEndpoint['transport'] = PeerEndpoint['transport']> {
  readonly name: Kind
  readonly send: (
    to: MessageDestination<Kind>,
    message: MeshMessage,
    signal: AbortSignal,
  ) => Promise<Result<DeliveredAnswer, Fault>>
  /** Frames come one by one: the next is requested when `emit` has resolved. */
  readonly stream: (
    to: MessageDestination<Kind>,
    message: MeshMessage,
    options: { readonly signal: AbortSignal; readonly emit: StreamFrameEmitter },
  ) => Promise<Result<DeliveredStreamEnd, Fault>>
  /**
   * The connection for packets to a node; a promise while it is being opened. Without one, separate messages are sent.
   */
  readonly wire?: (to: MessageDestination<Kind>) => PacketConnection | Promise<PacketConnection | undefined> | undefined
  /** Sets the listener for incoming packets. */
  readonly onPackets?: (events: PacketConnectionListener) => void
}

/** An open connection to one node. */
export interface PacketConnection {
  readonly nodeId: string
  /** Whether an answer can get lost while the connection stays open. */
  readonly mayLose: boolean
  /** The number of running calls, maintained by the caller. */
  inFlight: number
  /**
   * Returns `false` when nothing of it was sent. `nobody` is called with the number when a broker finds no subscriber.
   */
  readonly send: (packet: string, keyId: string, number: number) => boolean
  /** Reports that a call that was sent at this time has not been answered. */
  readonly doubt: (sinceMs: number) => void
}

export interface PacketConnectionListener {
  readonly receive: (packet: string) => void
  readonly broke: (wire: PacketConnection, why: string) => void
  readonly nobody: (keyId: string, number: number) => void
  readonly tick: () => void
}

export function createUnreachableFault(nodeId: string, why: string): Fault {
  const sentence = `${nodeId} cannot be reached: ${why.replace(/\.$/, '')}. Nothing was sent.`
  return { kind: 'offline', code: 'partition', message: sentence, begun: false }
}

/** This node itself has no connection; this says nothing about the other node. */
export function createOwnSideDisconnectedFault(nodeId: string, why: string): Fault {
  return { ...createUnreachableFault(nodeId, why), ownSide: true }
}

/** The connection broke between request and answer. */
export function createLostMeshAnswerFault(nodeId: string, idempotent: boolean, why: string): Fault {
  if (idempotent)
    return { kind: 'failed', code: 'partition', message: `${nodeId} went away before it answered: ${why}.` }
  return {
    kind: 'unknown-outcome',
    code: 'partition',
    message: `${nodeId} went away before it answered: ${why}. It may or may not have done it: check the state before trying again.`,
  }
}

export function createCancelledSendFault(): Fault {
  return { kind: 'cancelled', code: 'cancelled', message: 'The call was withdrawn.' }
}

/** Why a signal has aborted, in the bus's words. */
export function readAbortCause({ reason }: AbortSignal): 'deadline' | 'cancelled' {
  return reason instanceof DOMException && reason.name === 'TimeoutError' ? 'deadline' : 'cancelled'
}
