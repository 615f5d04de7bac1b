/**
 * Web hook listener: a separate port for HomeSeer's posts, so that opening it to the LAN opens nothing else.
 */
import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import type { ListenAddressSettings } from '../../core/listen-address.ts'
import { startListening } from '../../core/listen-server.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { admitUnpipelinedRequest, ConnectionLimiter } from '../../toolbox/connection-limiter.ts'
import { explainListenFault } from '../../toolbox/listen-fault.ts'
import type { WebhookHandler } from '../wire/webhook-handler.ts'

export interface WebhookListener {
  readonly port: number
  readonly stop: () => Promise<void>
}

/** A post has a few hundred bytes and comes from the same network. */
const REQUEST_MS = 10_000
/** HomeSeer keeps one or two connections; a client without the key cannot use up those of other listeners. */
const MAX_CONNECTIONS = 64

/** Fails with a sentence if the port or the address cannot be used. */
export async function startWebhookListener(
  handler: WebhookHandler,
  place: ListenAddressSettings,
): Promise<Result<WebhookListener, string>> {
  const listener = getRequestListener((request) => handler(request))
  const times = { requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS, connectionsCheckingInterval: REQUEST_MS }
  const limiter = new ConnectionLimiter<Socket>({ maxUnauthenticated: MAX_CONNECTIONS })
  const server = createServer(times, (request, response) => {
    if (admitUnpipelinedRequest(limiter, request, response)) void listener(request, response)
  })
  server.on('connection', (socket: Socket) => limiter.accept(socket))
  const listening = await startListening(server, place).catch((error: unknown) => explainListenFault(error, place))
  if (typeof listening === 'string') return fail(listening)
  return ok({
    port: listening,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        // HomeSeer keeps its connection open, so waiting for its end would delay the stop.
        server.closeAllConnections()
      }),
  })
}
