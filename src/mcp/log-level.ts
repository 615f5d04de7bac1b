/**
 * Log level: RFC 5424's eight, as MCP spells them, from least to most severe.
 *
 * Pure.
 */
export const LOG_LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

export function isLogLevel(value: unknown): value is LogLevel {
  return LOG_LEVELS.includes(value as LogLevel)
}

/** Whether somebody who asked for `threshold` and worse wants to hear this. Without a threshold nobody does. */
export function isWanted(level: string, threshold: LogLevel | undefined): level is LogLevel {
  return threshold !== undefined && isLogLevel(level) && LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(threshold)
}
