/** TCP probe: whether anything accepts connections at an address. It sends nothing. */
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
