/**
 * Listen: opens a server's port and says which one it became, where 0 asked for any.
 */
import type { ServerResponse } from 'node:http'
import type { AddressInfo, Server } from 'node:net'

/** Rejects with what the system says: the port belongs to another program, the address to another machine. */
export function listenOn(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, () => {
      server.off('error', reject)
      // A connection that the system could not accept is the client's to retry; unheard, the error would end us.
      server.on('error', () => undefined)
      resolve((server.address() as AddressInfo).port)
    })
  })
}

/** Whether a request has arrived whole and waits for its answer: one that does not end, or is not fetched, is silent. */
export function isBeingAnswered(response: ServerResponse): boolean {
  return response.req.complete && !response.writableEnded
}
