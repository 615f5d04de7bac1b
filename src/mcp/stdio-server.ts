/**
 * Stdio server: MCP for the one client that started us, in whichever era it speaks.
 */
import { serveStdio as serveSdk } from '@modelcontextprotocol/server/stdio'
import type { Server } from '@modelcontextprotocol/server'
import { systemClock } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import { newUlid } from '../core/ids.ts'
import type { Logger } from '../core/logger.ts'
import type { McpCatalogue, EndpointScope } from './catalogue.ts'
import { createCatalogueCache } from './catalogue.ts'
import { watchChanges } from './changes.ts'
import { openConnection } from './connection.ts'
import type { McpConnection } from './connection.ts'
import type { FaceBus, FacePrincipal } from './face-bus.ts'
import type { McpServerInfo } from './results.ts'
import type { ProfileTable } from './profile.ts'
import { announceList, announceResource, createSdkServer } from './sdk-server.ts'
import { createStateSeal } from './state-seal.ts'
import { StdioTransport } from './stdio-transport.ts'
import type { StdioStreams } from './stdio-transport.ts'

export interface McpStdioOptions {
  readonly bus: FaceBus
  readonly principal: FacePrincipal
  readonly door: EndpointScope
  readonly streams: StdioStreams
  readonly serverInfo: McpServerInfo
  readonly log: Logger
  readonly profiles?: ProfileTable
  readonly families?: readonly string[]
  readonly clock?: Clock
}

export interface McpStdio {
  /** Resolves when the client has closed its end, or we ours. */
  readonly ended: Promise<void>
  readonly close: () => Promise<void>
}

/** `undefined`: there is no such profile for this principal. */
export function serveStdio(options: McpStdioOptions): McpStdio | undefined {
  const { bus, principal, door, serverInfo, log, profiles = {}, families = [], clock = systemClock } = options
  const catalogues = createCatalogueCache({ bus, profiles, families })
  if (typeof catalogues.find(principal, door) === 'string') return undefined
  const answering = { bus, stateSeal: createStateSeal(clock), log }
  const id = newUlid()
  /** A client may probe one era and settle for the other: the last server made is the one that it talks to. */
  let current: { readonly server: Server; readonly connection: McpConnection } | undefined

  function createServer(era: McpConnection['era']): Server {
    const catalogue = (): McpCatalogue => catalogues.current(principal, door)
    const connection = openConnection({ principal, channel: 'mcp-stdio', era, id, node: door.node, catalogue })
    const server = createSdkServer(answering, serverInfo, connection)
    current = { connection, server }
    return server
  }

  const transport = new StdioTransport(options.streams)
  const handle = serveSdk(({ era }) => createServer(era), {
    transport,
    onerror: (error) => log.debug({ err: error }, 'the MCP client met an error'),
  })
  const stopWatching = watchChanges(bus, {
    onList: (kind) => {
      if (current !== undefined) announceList(current.server, kind)
    },
    onResource: (uri) => {
      // In 2026-07-28 the SDK knows who listens to what.
      if (current?.connection.era === 'modern' || current?.connection.subscriptions.has(uri) === true)
        announceResource(current.server, uri)
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
