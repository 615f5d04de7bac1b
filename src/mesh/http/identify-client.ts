/**
 * Identify client: finds the id of the node at an address, for addresses that the owner configured without an id.
 */
import { readTlsPeerId } from '../identity/self-signed-certificate.ts'
import { openUnverifiedTlsConnection } from './pinned-agent-client.ts'

const TIMEOUT_MS = 3_000

/** Returns `undefined` when there is no answer, or no node answers. */
export function requestNodeId(address: Parameters<typeof openUnverifiedTlsConnection>[0]): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = openUnverifiedTlsConnection(address)
    const settle = (nodeId?: string): void => {
      clearTimeout(impatience)
      socket.destroy()
      resolve(nodeId)
    }
    const impatience = setTimeout(() => settle(), TIMEOUT_MS)
    socket.once('error', () => settle())
    socket.once('secureConnect', () => settle(readTlsPeerId(socket)))
  })
}
