/**
 * Serial transport: adapters on a USB or UART port.
 *
 * The package with its native binding is loaded when the first port is opened, not when the program starts.
 *
 * Does I/O.
 */
import { fail, ok } from '../../core/result.ts'
import { streamConnection } from './stream-transport.ts'
import type { Transport } from './transport.ts'

export interface SerialOptions {
  readonly path: string
  /** 9600 for `enh`, 115200 for `ens`, 2400 for a bare level converter. */
  readonly baud: number
}

export function serialTransport({ path, baud }: SerialOptions): Transport {
  return {
    name: `serial ${path} at ${baud} Bd`,
    async connect(signal) {
      const { SerialPort } = await import('serialport')
      if (signal.aborted) return fail({ kind: 'unreachable', reason: 'cancelled' })
      const port = new SerialPort({ path, baudRate: baud, autoOpen: false })
      const refused = await new Promise<Error | null>((resolve) => port.open((error) => resolve(error)))
      if (refused !== null) return fail({ kind: 'unreachable', reason: refused.message })
      return ok(streamConnection(port))
    },
  }
}
