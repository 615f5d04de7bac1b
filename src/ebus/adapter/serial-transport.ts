/**
 * Serial transport: adapters on a USB or UART port.
 *
 * The package with its native binding is loaded when the first port is opened, not when the program starts.
 */
import type { SerialPort } from 'serialport'

import { fail, ok } from '../../core/result.ts'
import { createStreamConnection } from './stream-transport.ts'
import type { ByteConnector } from './transport.ts'

export interface SerialOptions {
  readonly path: string
  /** 9600 for `enh`, 115200 for `ens`, 2400 for a bare level converter. */
  readonly baud: number
}

const PRESENCE_MS = 2_000

export function createSerialTransport({ path, baud }: SerialOptions): ByteConnector {
  return {
    name: `serial ${path} at ${baud} Bd`,
    async connect(signal) {
      const { SerialPort: Port } = await import('serialport')
      if (signal.aborted) return fail({ kind: 'unreachable', reason: 'cancelled' })
      const port = new Port({ path, baudRate: baud, autoOpen: false })
      const refused = await new Promise<Error | null>((resolve) => port.open((error) => resolve(error)))
      if (refused !== null)
        return fail({ kind: 'unreachable', reason: refused.message, code: findRefusal(refused.message) })
      watchPresence(port)
      return ok(createStreamConnection(port))
    },
  }
}

/** The package reports only the system's message for a port that cannot be opened. */
const REFUSALS: readonly (readonly [words: RegExp, code: string])[] = [
  [/no such (?:file|device)/i, 'ENOENT'],
  [/permission denied/i, 'EACCES'],
  [/inappropriate ioctl|is a directory/i, 'ENOTTY'],
  [/cannot lock port|busy/i, 'EBUSY'],
]

function findRefusal(message: string): string | undefined {
  return REFUSALS.find(([words]) => words.test(message))?.[1]
}

/**
 * A device that is pulled out during a read gives end-of-file for ever, which the package takes for "no data yet".
 * Reading the modem lines then fails with EIO; other failures (no such lines) mean nothing.
 */
function watchPresence(port: SerialPort): void {
  const timer = setInterval(() => {
    port.get((error) => {
      if (error !== null && /input\/output error/i.test(error.message))
        port.destroy(new Error('the serial line is gone'))
    })
  }, PRESENCE_MS)
  port.once('close', () => clearInterval(timer))
}
