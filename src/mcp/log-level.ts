/**
 * Log level: RFC 5424's eight, as MCP spells them, from least to most severe.
 */
export const MCP_LOG_LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const
export type McpLogLevel = (typeof MCP_LOG_LEVELS)[number]

export function isLogLevel(value: unknown): value is McpLogLevel {
  return MCP_LOG_LEVELS.includes(value as McpLogLevel)
}

/** Whether a client that requested `threshold` gets this message. Without a threshold it gets none. */
export function isLogLevelRequested(level: string, threshold: McpLogLevel | undefined): level is McpLogLevel {
  return (
    threshold !== undefined && isLogLevel(level) && MCP_LOG_LEVELS.indexOf(level) >= MCP_LOG_LEVELS.indexOf(threshold)
  )
}
