/**
 * Web hook listener: a port of its own for HomeSeer's posts, so that opening it to the LAN opens nothing else.
 *
 * Does I/O.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import type { WebhookHandler } from '../wire/webhook-server.ts'

export interface WebhookListener {
  readonly port: number
  readonly stop: () => Promise<void>
}

export async function startWebhookListener(
  handler: WebhookHandler,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<WebhookListener> {
  const listener = getRequestListener((request) => handler(request))
  const server = createServer((request, response) => void listener(request, response))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, host, resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
