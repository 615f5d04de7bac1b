/** Stdio server: MCP for the client that started the process, in either era. */
import { serveStdio as serveSdk } from '@modelcontextprotocol/server/stdio'
import type { Server } from '@modelcontextprotocol/server'
import { systemClock } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import { newUlid } from '../core/ids.ts'
import type { Logger } from '../core/logger.ts'
import type { McpCatalogue, McpEndpointScope } from './catalogue.ts'
import { createMcpCatalogueCache } from './catalogue.ts'
import { subscribeToMcpListChanges } from './list-change-subscription.ts'
import { createMcpConnectionState } from './mcp-connection-state.ts'
import type { McpConnectionState } from './mcp-connection-state.ts'
import type { FaceBus, FacePrincipal } from './face-bus.ts'
import type { McpServerInfo } from './mcp-results.ts'
import type { McpProfilesByName } from './profile.ts'
import { announceListChange, announceResourceChange, createSdkServer } from './sdk-server.ts'
import { createRequestStateSeal } from './request-state-seal.ts'
import { StdioTransport } from './stdio-transport.ts'
import type { StdioStreams } from './stdio-transport.ts'

export interface McpStdioOptions {
  readonly bus: FaceBus
  readonly principal: FacePrincipal
  readonly scope: McpEndpointScope
  readonly streams: StdioStreams
  readonly serverInfo: McpServerInfo
  readonly log: Logger
  readonly profiles?: McpProfilesByName
  readonly families?: readonly string[]
  readonly clock?: Clock
}

export interface McpStdioServer {
  /** Resolves when either side has closed the connection. */
  readonly ended: Promise<void>
  readonly close: () => Promise<void>
}

/** Returns `undefined` when there is no such profile for this principal. */
export function serveStdio(options: McpStdioOptions): McpStdioServer | undefined {
  const { bus, principal, scope, serverInfo, log, profiles = {}, families = [], clock = systemClock } = options
  const catalogues = createMcpCatalogueCache({ bus, profiles, families })
  if (typeof catalogues.find(principal, scope) === 'string') return undefined
  const answering = { bus, stateSeal: createRequestStateSeal(clock), log }
  const id = newUlid()
  /** A client may try one era and then use the other: the server that was created last is the one in use. */
  let current: { readonly server: Server; readonly connection: McpConnectionState } | undefined

  function createServer(era: McpConnectionState['era']): Server {
    const catalogue = (): McpCatalogue => catalogues.current(principal, scope)
    const connection = createMcpConnectionState({
      principal,
      channel: 'mcp-stdio',
      era,
      id,
      node: scope.node,
      catalogue,
    })
    const server = createSdkServer(answering, serverInfo, connection)
    current = { connection, server }
    return server
  }

  const transport = new StdioTransport(options.streams)
  const handle = serveSdk(({ era }) => createServer(era), {
    transport,
    onerror: (error) => log.debug({ err: error }, 'the MCP client met an error'),
  })
  const stopWatching = subscribeToMcpListChanges(bus, {
    onList: (kind) => {
      if (current !== undefined) announceListChange(current.server, kind)
    },
    onResource: (uri) => {
      // In 2026-07-28 the SDK keeps the subscriptions.
      if (current?.connection.era === 'modern' || current?.connection.subscriptions.has(uri) === true)
        announceResourceChange(current.server, uri)
    },
  })
  const ended = new Promise<void>((resolve) => {
    const sdkClosed = transport.onclose
    transport.onclose = () => {
      stopWatching()
      sdkClosed?.()
      resolve()
    }
  })
  return { ended, close: () => handle.close() }
}
