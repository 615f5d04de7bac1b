/**
 * Logger: lines of JSON for whoever runs the node, always to stderr: stdout of `hearthbus mcp` carries JSON-RPC only.
 */
import { pino } from 'pino'
import { createStderrLineWriter } from './stderr-transport.ts'
import { sanitizeText } from './untrusted-text.ts'

/** Longer than twice any line with a stack trace of ours. */
const MAX_LINE = 8_192
const MAX_TEXT = 2_048

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
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      hooks: { streamWrite: (line) => sanitizeText(cutLongTexts(line)) },
    },
    createStderrLineWriter(),
  )
}

/** Untrusted text may be part of what is logged: cut, so that it neither fills the log nor hides another line. */
function cutLongTexts(line: string): string {
  if (line.length <= MAX_LINE) return line
  const cut = (_: string, value: unknown): unknown =>
    typeof value === 'string' && value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT).toWellFormed()}…` : value
  return `${JSON.stringify(JSON.parse(line), cut)}\n`
}

export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing }

function nothing(): void {
  // Logs nothing.
}
