/**
 * eBUS connection client: opens a bus at an endpoint, whatever stands there.
 */
import type { BackoffSchedule } from '../../core/backoff.ts'
import { RECONNECT_BACKOFF } from '../../core/backoff.ts'
import type { Clock } from '../../core/clock.ts'
import { systemClock } from '../../core/clock.ts'
import { AdapterBus } from './adapter-bus-client.ts'
import type { EbusConnection, TransportClass } from './ebus-connection.ts'
import { EbusdBus } from './ebusd-client.ts'
import type { AdapterEndpoint } from './adapter-endpoint.ts'
import { createEnhancedPortProtocol } from './enhanced-port.ts'
import { createMdnsDiscoveryTransport } from './mdns-transport.ts'
import { createPlainPortProtocol } from './plain-port.ts'
import type { AdapterPortProtocol } from './adapter-port.ts'
import { createSerialTransport } from './serial-transport.ts'
import { createTcpTransport } from './tcp-transport.ts'
import type { ByteConnector } from './transport.ts'
import { createUdpTransport } from './udp-transport.ts'

export interface EbusConnectionOptions {
  readonly id: string
  readonly endpoint: AdapterEndpoint
  /**
   * An initiator address, or `auto`: listen first, then use a free one. Over ebusd, `auto` means ebusd's own address.
   */
  readonly source: number | 'auto'
  readonly listenMs?: number
  readonly queueCapacity?: number
  readonly telemetryMs?: number
  readonly backoff?: BackoffSchedule
  readonly clock?: Clock
  readonly random?: () => number
}

const ENH_BAUD = 9_600
const ENS_BAUD = 115_200
const BUS_BAUD = 2_400

/** Returns at once; connecting, and connecting again, go on until it is closed. */
export function openEbusConnection(options: EbusConnectionOptions): EbusConnection {
  const defaults = {
    listenMs: 5_000,
    queueCapacity: 64,
    telemetryMs: 30_000,
    backoff: RECONNECT_BACKOFF,
    clock: systemClock,
    random: Math.random,
  }
  const { endpoint, ...rest } = { ...defaults, ...options }
  if (endpoint.kind === 'ebusd') return new EbusdBus({ ...rest, ...endpoint })
  return new AdapterBus({ ...rest, ...selectTransport(endpoint) })
}

/** The transport to an adapter, and the meaning of its bytes. */
export function selectTransport(endpoint: AdapterEndpoint): {
  readonly transport: ByteConnector
  readonly transportClass: TransportClass
  readonly newProtocol: () => AdapterPortProtocol
} {
  if ('path' in endpoint) {
    const { kind, path } = endpoint
    const baud = kind === 'enh' ? ENH_BAUD : kind === 'ens' ? ENS_BAUD : BUS_BAUD
    return kind === 'serial'
      ? {
          transport: createSerialTransport({ path, baud }),
          transportClass: 'serial-plain',
          newProtocol: createPlainPortProtocol,
        }
      : {
          transport: createSerialTransport({ path, baud }),
          transportClass: kind,
          newProtocol: createEnhancedPortProtocol,
        }
  }
  switch (endpoint.kind) {
    case 'tcp':
      return {
        transport: createTcpTransport(endpoint),
        transportClass: 'tcp-plain',
        newProtocol: createPlainPortProtocol,
      }
    case 'mdns':
      return {
        transport: createMdnsDiscoveryTransport(endpoint),
        transportClass: 'enh',
        newProtocol: createEnhancedPortProtocol,
      }
    case 'udp':
      return {
        transport: createUdpTransport(endpoint),
        transportClass: 'udp-plain',
        newProtocol: createPlainPortProtocol,
      }
    default:
      return {
        transport: createTcpTransport(endpoint),
        transportClass: endpoint.kind === 'ens' ? 'ens' : 'enh',
        newProtocol: createEnhancedPortProtocol,
      }
  }
}
