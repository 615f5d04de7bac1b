/**
 * Identify: whose key answers at an address. For addresses without a name: those that the owner wrote down.
 */
import { connect } from 'node:tls'
import { readNodeId } from '../identity/certificate.ts'
import type { TlsIdentity } from './pinned-agent-client.ts'

const TIMEOUT_MS = 3_000

/** `undefined` when nobody answers, or somebody who is no node. */
export function requestNodeIdentity({
  host,
  port,
  tls,
}: {
  readonly host: string
  readonly port: number
  readonly tls: TlsIdentity
}): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({
      host,
      port,
      cert: tls.certificate,
      key: tls.key,
      minVersion: 'TLSv1.3',
      rejectUnauthorized: false,
    })
    const settle = (nodeId?: string): void => {
      clearTimeout(impatience)
      socket.destroy()
      resolve(nodeId)
    }
    const impatience = setTimeout(() => settle(), TIMEOUT_MS)
    socket.once('error', () => settle())
    socket.once('secureConnect', () => {
      const certificate = socket.getPeerX509Certificate()
      settle(certificate === undefined ? undefined : readNodeId(certificate))
    })
  })
}
