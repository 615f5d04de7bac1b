/**
 * Endpoint: where an adapter is, in the words ebusd users know.
 *
 *   enh:192.168.1.4:9999   ens:/dev/ttyUSB0   tcp:host:3333   udp:host:3333   serial:/dev/ttyAMA0   ebusd:host:8888
 *
 * Pure.
 */
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'

export type Endpoint =
  | { readonly kind: 'enh' | 'ens' | 'tcp' | 'udp' | 'ebusd'; readonly host: string; readonly port: number }
  | { readonly kind: 'enh' | 'ens' | 'serial'; readonly path: string }

export interface EndpointFault {
  readonly kind: 'bad-endpoint'
  readonly text: string
  readonly expected: string
}

const NETWORK = /^(?<kind>enh|ens|tcp|udp|ebusd):(?<host>\[[0-9a-f:]+\]|[^:/\s]+):(?<port>\d{1,5})$/i
const DEVICE = /^(?<kind>enh|ens|serial):(?<path>\/\S+|COM\d+)$/i
const EXPECTED = 'enh:host:port, ens:/dev/…, tcp:host:port, udp:host:port, serial:/dev/… or ebusd:host:port'

export function parseEndpoint(text: string): Result<Endpoint, EndpointFault> {
  const wrong = fail<EndpointFault>({ kind: 'bad-endpoint', text, expected: EXPECTED })
  const network = NETWORK.exec(text.trim())?.groups
  if (network !== undefined) {
    const port = Number(network['port'])
    const host = (network['host'] ?? '').replaceAll(/[[\]]/g, '')
    if (port < 1 || port > 65_535) return wrong
    return ok({ kind: (network['kind'] ?? '').toLowerCase() as 'enh', host, port })
  }
  const device = DEVICE.exec(text.trim())?.groups
  if (device === undefined) return wrong
  return ok({ kind: (device['kind'] ?? '').toLowerCase() as 'enh', path: device['path'] ?? '' })
}
