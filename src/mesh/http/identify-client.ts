/**
 * Identify client: whose key answers at an address. For addresses without a name: those that the owner wrote down.
 */
import { readTlsPeerId } from '../identity/certificate.ts'
import { connectToNode } from './pinned-agent-client.ts'

const TIMEOUT_MS = 3_000

/** `undefined` when nobody answers, or somebody who is no node. */
export function requestNodeId(address: Parameters<typeof connectToNode>[0]): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connectToNode(address)
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
