/**
 * Logger: lines of JSON for whoever runs the node, always to stderr: stdout of `hearthbus mcp` carries JSON-RPC only.
 */
import { pino } from 'pino'
import { createStderrLineWriter } from './stderr-transport.ts'

export type LogLevel = 'silent' | 'error' | 'warn' | 'info' | 'debug'

/**
 * Fields first, sentence second. Never a secret, never a body: bodies are stored beside the ledger, as salted
 * commitments.
 */
export interface Logger {
  readonly debug: (fields: object, message: string) => void
  readonly info: (fields: object, message: string) => void
  readonly warn: (fields: object, message: string) => void
  readonly error: (fields: object, message: string) => void
}

export function createLogger(level: LogLevel): Logger {
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, createStderrLineWriter())
}

export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing }

function nothing(): void {
  // Logs nothing.
}
