/**
 * MCP connection state: one client, for as long as its process, its session or its request lasts, and what it has
 * subscribed to. Only the 2025 revisions have anything that lasts longer than a request.
 */
import type { CallChannel } from '../bus/call.ts'
import type { JsonObject } from '../core/json.ts'
import type { McpRequestContext } from './mcp-request.ts'
import type { McpCatalogue } from './catalogue.ts'
import type { FacePrincipal } from './face-bus.ts'
import type { McpLogLevel } from './log-level.ts'

export interface McpConnectionOptions {
  readonly principal: FacePrincipal
  readonly channel: CallChannel
  readonly era: McpRequestContext['era']
  /** The router's name for it; never the secret that opens a session. */
  readonly id: string | undefined
  /** The node that this connection is for, if it is for one. */
  readonly node?: string | undefined
  /** Called at every request, because offers come and go. */
  readonly catalogue: () => McpCatalogue
}

export interface McpConnectionState extends McpConnectionOptions {
  readonly subscriptions: Set<string>
  /** All levels, unless the client sets one. */
  logLevel: McpLogLevel
  /** Requests whose handler was already called and needs input: the handler's answer, and what it logged meanwhile. */
  readonly begun: Map<
    string | number,
    { readonly result: JsonObject; readonly notifications: readonly BufferedNotification[] }
  >
}

/** A notification on its way. */
export interface BufferedNotification {
  readonly method: string
  readonly params: JsonObject
}

export function createMcpConnectionState(client: McpConnectionOptions): McpConnectionState {
  return { ...client, subscriptions: new Set(), logLevel: 'debug', begun: new Map() }
}
