/** Ports of this machine, for the far ends that tests play. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Server } from 'node:net'
import { listen } from '../src/core/listen-server.ts'

export function listenLocally(server: Server): Promise<number> {
  return listen(server, { host: '127.0.0.1', port: 0 })
}

/** One that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer()
  const port = await listenLocally(server)
  server.close()
  await once(server, 'close')
  return port
}
