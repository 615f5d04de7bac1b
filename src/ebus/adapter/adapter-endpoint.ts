/**
 * Adapter endpoint: the address of an adapter, in ebusd's notation.
 *
 *   enh:192.168.1.4:9999   ens:/dev/ttyUSB0   tcp:host:3333   udp:host:3333   serial:/dev/ttyAMA0   ebusd:host:8888
 *   mdns:   mdns:0123456789ab   mdns:0123456789ab@192.168.1.2
 *
 * The default port is ebusd's: 9999 for an adapter, 8888 for ebusd itself.
 */
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'

export type AdapterEndpoint =
  | { readonly kind: 'enh' | 'ens' | 'tcp' | 'udp' | 'ebusd'; readonly host: string; readonly port: number }
  | { readonly kind: 'enh' | 'ens' | 'serial'; readonly path: string }
  /**
   * Searched by its id, or the only adapter there is; `via` is this machine's address on the network that is searched.
   */
  | { readonly kind: 'mdns'; readonly id: string | undefined; readonly via: string | undefined }

export interface EndpointFault {
  readonly kind: 'bad-endpoint'
  readonly text: string
  readonly expected: string
}

const NETWORK = /^(?<kind>enh|ens|tcp|udp|ebusd):(?<host>\[[0-9a-f:]+\]|[^:/\s]+)(?::(?<port>\d{1,5}))?$/i
const DEVICE = /^(?<kind>enh|ens|serial):(?<path>\/\S+|COM\d+)$/i
const ANNOUNCED = /^mdns:(?<id>[0-9a-f]{12})?(?:@(?<via>[0-9.]+|[0-9a-f:]+))?$/i
const EXPECTED =
  'enh:host[:port], ens:/dev/…, tcp:host[:port], udp:host[:port], serial:/dev/…, mdns:[id] or ebusd:host[:port]'
const ADAPTER_PORT = 9_999
const EBUSD_PORT = 8_888

export function parseAdapterEndpoint(text: string): Result<AdapterEndpoint, EndpointFault> {
  const wrong = fail<EndpointFault>({ kind: 'bad-endpoint', text, expected: EXPECTED })
  const network = NETWORK.exec(text.trim())?.groups
  if (network !== undefined) {
    const kind = (network['kind'] ?? '').toLowerCase() as 'enh' | 'ebusd'
    const port =
      network['port'] === undefined ? (kind === 'ebusd' ? EBUSD_PORT : ADAPTER_PORT) : Number(network['port'])
    const host = (network['host'] ?? '').replaceAll(/[[\]]/g, '')
    // `ens:COM3` is a serial line, not a host.
    const isDevice = network['port'] === undefined && DEVICE.test(text.trim())
    if (port < 1 || port > 65_535) return wrong
    if (!isDevice) return ok({ kind, host, port })
  }
  const announced = ANNOUNCED.exec(text.trim())
  if (announced !== null)
    return ok({ kind: 'mdns', id: announced.groups?.['id']?.toLowerCase(), via: announced.groups?.['via'] })
  const device = DEVICE.exec(text.trim())?.groups
  if (device === undefined) return wrong
  return ok({ kind: (device['kind'] ?? '').toLowerCase() as 'enh', path: device['path'] ?? '' })
}
