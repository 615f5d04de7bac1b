/**
 * Face bus: the part of the capability bus that a face for models needs, and nothing more of it.
 *
 * Pure.
 */
import type { Call, Caller, Channel, Interaction, Outcome } from '../bus/call.ts'
import type { Offer, Version } from '../bus/capability.ts'
import type { JsonObject } from '../core/json.ts'

/** Whoever talks MCP to us has shown a credential, or is the owner's own program on this machine. */
export type Principal = Extract<Caller, { kind: 'principal' }>

export interface FaceCallOptions {
  readonly caller: Caller
  readonly channel: Channel
  readonly traceId?: string
  readonly parentSpan?: string
  readonly sessionId?: Call['sessionId']
  readonly signal?: AbortSignal
  readonly interaction?: Interaction
}

export interface FaceBus {
  /** `undefined` as version: the newest that is offered. */
  call(name: string, versionReq: Version | undefined, body: JsonObject, options: FaceCallOptions): Promise<Outcome>
  /** One per name, sorted; the same array until something changes. */
  offers(): readonly Offer[]
  offer(name: string): Offer | undefined
  /** Something was registered or went away. What exactly is read from `offers()`. */
  subscribe(): AsyncIterable<unknown>
  onResource(listener: (uri: string) => void): () => void
}
