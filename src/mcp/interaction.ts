/**
 * Interaction: what a running call can say to its caller, turned into MCP notifications.
 *
 * Pure.
 */
import type { Interaction } from '../bus/call.ts'
import type { JsonObject } from '../core/json.ts'
import { isWanted } from './log-level.ts'
import type { LogLevel } from './log-level.ts'

export interface Hearing {
  readonly progressToken: string | number | undefined
  readonly logLevel: LogLevel | undefined
  readonly notify: (method: string, params: JsonObject) => void
}

/** Absent parts are not heard: a caller that gave no token gets no progress, one that named no level gets no logs. */
export function speaking({ progressToken, logLevel, notify }: Hearing): Pick<Interaction, 'progress' | 'log'> {
  return {
    ...(progressToken === undefined ? {} : { progress: rising(progressToken, notify) }),
    ...(logLevel === undefined ? {} : { log: worthSaying(logLevel, notify) }),
  }
}

/** MCP, progress: the value must increase with each notification. One that does not is not news. */
function rising(progressToken: string | number, notify: Hearing['notify']): NonNullable<Interaction['progress']> {
  let last = -Infinity
  return (progress, total, message) => {
    if (!(progress > last)) return
    last = progress
    notify('notifications/progress', {
      progressToken,
      progress,
      ...(total === undefined ? {} : { total }),
      ...(message === undefined ? {} : { message }),
    })
  }
}

function worthSaying(threshold: LogLevel, notify: Hearing['notify']): NonNullable<Interaction['log']> {
  return (level, data, logger) => {
    if (!isWanted(level, threshold)) return
    notify('notifications/message', { level, data, ...(logger === undefined ? {} : { logger }) })
  }
}
