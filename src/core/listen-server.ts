/** Listen: opens a server's port and returns which one it is, where 0 asked for any; and closes it again. */
import type { Server as HttpServer, ServerResponse } from 'node:http'
import type { AddressInfo, Server } from 'node:net'

/** Rejects with the system's error: the port is used by another program, or the address belongs to another machine. */
export function startListening(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, () => {
      server.off('error', reject)
      // A connection that the system could not accept is for the client to retry; without a listener the error would
      // end the process.
      server.on('error', () => undefined)
      resolve((server.address() as AddressInfo).port)
    })
  })
}

/** Sends JSON that no cache may keep, because it is only true now. */
export function sendJsonResponse(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' })
  response.end(JSON.stringify(body))
}

/** Idle connections are closed at once, busy ones when they are done, and after `patienceMs` nobody delays it further. */
export function stopListening(
  server: Pick<HttpServer, 'close' | 'closeAllConnections' | 'closeIdleConnections'>,
  patienceMs: number,
  endOthers: () => void = () => undefined,
): Promise<void> {
  const impatience = setTimeout(() => {
    server.closeAllConnections()
    endOthers()
  }, patienceMs)
  return new Promise((resolve) => {
    server.close(() => {
      clearTimeout(impatience)
      resolve()
    })
    server.closeIdleConnections()
  })
}
