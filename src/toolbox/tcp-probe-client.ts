/** TCP probe: whether anything takes connections at an address. Nothing is sent. */
import { connect } from 'node:net'

export function isTcpReachable(
  { host, port }: { readonly host: string; readonly port: number },
  timeoutMs: number,
): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port })
    const end = (isReached: boolean) => (): void => {
      socket.destroy()
      resolve(isReached)
    }
    socket.setTimeout(timeoutMs, end(false))
    socket.once('error', end(false))
    socket.once('connect', end(true))
  })
}
