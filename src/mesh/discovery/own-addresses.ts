/** Own addresses: where others can reach a listener of this machine. */
import { networkInterfaces } from 'node:os'
import { parseHostPort } from './peer-source.ts'

/**
 * The addresses that the owner configured; else the one that the listener uses; else every address of this machine that
 * others can use.
 */
export function listOwnAddresses(listen: {
  readonly host: string
  readonly port: number
  readonly advertise: readonly string[]
}): readonly { readonly host: string; readonly port: number }[] {
  const { host, port, advertise } = listen
  const named = advertise.flatMap((text) => parseHostPort(text) ?? [])
  if (named.length > 0) return named
  if (host !== '0.0.0.0' && host !== '::') return [{ host, port }]
  const found = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal, family, address }) => !internal && (family === 'IPv4' || !address.startsWith('fe80:')))
    .map(({ address }) => ({ host: address, port }))
  // A machine without a network is only reachable from itself.
  return found.length > 0 ? found.slice(0, 8) : [{ host: '127.0.0.1', port }]
}
