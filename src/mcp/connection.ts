/**
 * Connection: one client, for as long as its process, its session or its request lasts, and what it has asked for so
 * far. Only the 2025 family asks for anything that lasts longer than a request.
 *
 * Pure.
 */
import type { Channel } from '../bus/call.ts'
import type { JsonObject } from '../core/json.ts'
import type { Asker } from './request.ts'
import type { Catalogue } from './catalogue.ts'
import type { Principal } from './face-bus.ts'
import type { LogLevel } from './log-level.ts'

export interface Client {
  readonly principal: Principal
  readonly channel: Channel
  readonly era: Asker['era']
  /** What the router calls it; never the secret that opens a session. */
  readonly id: string | undefined
  /** The node that this connection is for, if it is for one. */
  readonly node?: string | undefined
  /** Asked at every request: offers come and go. */
  readonly catalogue: () => Catalogue
}

export interface Connection extends Client {
  readonly subscriptions: Set<string>
  /** Everything, unless the client says otherwise. */
  logLevel: LogLevel
  /** Requests whose handler has been asked already and wants input: what it answered, and what it said meanwhile. */
  readonly begun: Map<string | number, { readonly result: JsonObject; readonly said: readonly Said[] }>
}

/** A notification on its way. */
export interface Said {
  readonly method: string
  readonly params: JsonObject
}

export function openConnection(client: Client): Connection {
  return { ...client, subscriptions: new Set(), logLevel: 'debug', begun: new Map() }
}
