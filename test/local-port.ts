/** Ports of this machine, for the far ends that tests play. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Server } from 'node:net'
import { startListening } from '../src/core/listen-server.ts'

export function listenLocally(server: Server): Promise<number> {
  return startListening(server, { host: '127.0.0.1', port: 0 })
}

/** Below those that the system gives to whoever asks for any, so that nobody is given it by chance meanwhile. */
const [LOWEST, HIGHEST] = [20_000, 32_000]

/** One that was free a moment ago, and can be taken, left and taken again. */
export async function freePort(): Promise<number> {
  for (;;) {
    const server = createServer()
    const wanted = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST))
    const port = await startListening(server, { host: '127.0.0.1', port: wanted }).catch(() => undefined)
    if (port === undefined) continue
    server.close()
    await once(server, 'close')
    return port
  }
}
