/**
 * Connection: one client, for as long as its process, its session or its request lasts, and what it has asked for so
 * far. Only the 2025 family asks for anything that lasts longer than a request.
 */
import type { CallChannel } from '../bus/call.ts'
import type { JsonObject } from '../core/json.ts'
import type { McpCaller } from './request.ts'
import type { McpCatalogue } from './catalogue.ts'
import type { FacePrincipal } from './face-bus.ts'
import type { McpLogLevel } from './log-level.ts'

export interface McpClientInfo {
  readonly principal: FacePrincipal
  readonly channel: CallChannel
  readonly era: McpCaller['era']
  /** What the router calls it; never the secret that opens a session. */
  readonly id: string | undefined
  /** The node that this connection is for, if it is for one. */
  readonly node?: string | undefined
  /** Asked at every request: offers come and go. */
  readonly catalogue: () => McpCatalogue
}

export interface McpConnection extends McpClientInfo {
  readonly subscriptions: Set<string>
  /** Everything, unless the client says otherwise. */
  logLevel: McpLogLevel
  /** Requests whose handler has been asked already and wants input: what it answered, and what it said meanwhile. */
  readonly begun: Map<string | number, { readonly result: JsonObject; readonly said: readonly LoggedMessage[] }>
}

/** A notification on its way. */
export interface LoggedMessage {
  readonly method: string
  readonly params: JsonObject
}

export function openConnection(client: McpClientInfo): McpConnection {
  return { ...client, subscriptions: new Set(), logLevel: 'debug', begun: new Map() }
}
