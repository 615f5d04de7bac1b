/**
 * Logger: lines of JSON for whoever runs the node, always to stderr: stdout of `hearthbus mcp` carries JSON-RPC only.
 *
 * Does I/O.
 */
import { pino } from 'pino'

export type LogLevel = 'silent' | 'error' | 'warn' | 'info' | 'debug'

/** Fields first, sentence second. Never a secret, never a body: those belong to the ledger, behind a commitment. */
export interface Logger {
  readonly debug: (fields: object, message: string) => void
  readonly info: (fields: object, message: string) => void
  readonly warn: (fields: object, message: string) => void
  readonly error: (fields: object, message: string) => void
}

const STDERR = 2

export function createLogger(level: LogLevel): Logger {
  // Synchronous: the last line before a crash is the one that is needed.
  const destination = pino.destination({ dest: STDERR, sync: true })
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination)
}

export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing }

function nothing(): void {
  // Said to nobody.
}
