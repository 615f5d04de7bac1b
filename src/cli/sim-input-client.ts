/**
 * Sim input: reads the options of a simulator that runs alone, and the commands that are typed while it runs.
 */
import { createInterface } from 'node:readline'
import { InvalidArgumentError } from 'commander'
import { waitForSignal } from './process-signal.ts'

export interface ListenAddress {
  readonly host: string
  readonly port: number
}

/** Parses `host:port`, `[::1]:port`, or a port alone, on this machine. Throws an error that commander shows. */
export function parseListenAddress(text: string): ListenAddress {
  const [, host = '127.0.0.1', port = ''] = /^(?:\[?([^[\]]+?)\]?:)?(\d{1,5})$/.exec(text) ?? []
  if (port === '' || Number(port) > 65_535) throw new InvalidArgumentError('give host:port, such as 127.0.0.1:9999')
  return { host, port: Number(port) }
}

/** Parses a factor. Throws an error that commander shows. */
export function parsePositiveNumber(text: string): number {
  const value = Number(text)
  if (!Number.isFinite(value) || value <= 0) throw new InvalidArgumentError('a number above 0')
  return value
}

/** Runs typed commands until a signal. Reads line by line, so that a script can pipe faults into it. */
export async function runTypedCommandsUntilSignal(obey: (line: string) => string): Promise<void> {
  const typed = createInterface({ input: process.stdin })
  typed.on('line', (line) => {
    if (line.trim() !== '') process.stdout.write(`${obey(line)}\n`)
  })
  await waitForSignal()
  typed.close()
}
