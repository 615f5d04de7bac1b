/**
 * Web hook listener: a port of its own for HomeSeer's posts, so that opening it to the LAN opens nothing else.
 *
 * Does I/O.
 */
import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { listen } from '../../core/listen-server.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import type { WebhookHandler } from '../wire/webhook-server.ts'

export interface WebhookListener {
  readonly port: number
  readonly stop: () => Promise<void>
}

/** A post is a few hundred bytes from the same network. */
const REQUEST_MS = 10_000
/** HomeSeer keeps one or two; whoever has not the key can take no more than these, and none of the other listeners'. */
const MAX_CONNECTIONS = 64

/** Fails with a sentence where the port or the address is not to be had. */
export async function startWebhookListener(
  handler: WebhookHandler,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<Result<WebhookListener, string>> {
  const listener = getRequestListener((request) => handler(request))
  const times = { requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS, connectionsCheckingInterval: REQUEST_MS }
  const server = createServer(times, (request, response) => void listener(request, response))
  server.maxConnections = MAX_CONNECTIONS
  const listening = await listen(server, { host, port }).catch((error: NodeJS.ErrnoException) =>
    troubleOf(error.code, { host, port }),
  )
  if (typeof listening === 'string') return fail(listening)
  return ok({
    port: listening,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        // HomeSeer keeps its connection open; waiting for it to let go would hold up the stop.
        server.closeAllConnections()
      }),
  })
}

function troubleOf(code: string | undefined, { host, port }: { readonly host: string; readonly port: number }): string {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port}, where HomeSeer’s web hook would be heard, belongs to another program. Set homeseer.push.webhookPort.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `homeseer.push.webhookHost is ${host}, which is no address of this machine.`
    case 'EACCES':
      return `Port ${port} may only be used by root. Set homeseer.push.webhookPort to one above 1023.`
    default:
      return `HomeSeer’s web hook cannot be heard at ${host}:${port} (${code ?? 'unknown'}).`
  }
}
