/**
 * Asker: who asks, through which door, and what can reach them while the call runs, turned into MCP notifications.
 *
 * Pure.
 */
import type { Channel, Interaction } from '../bus/call.ts'
import type { WorkReference } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import type { Catalogue } from './catalogue.ts'
import type { CallOptions, Principal } from './face-bus.ts'
import { isWanted } from './log-level.ts'
import type { LogLevel } from './log-level.ts'
import type { ProtocolFault } from './protocol-error.ts'
import type { TraceParent } from './request.ts'

export interface Asker {
  readonly principal: Principal
  readonly catalogue: Catalogue
  readonly channel: Channel
  readonly signal: AbortSignal
  readonly era: 'modern' | 'legacy'
  readonly trace?: TraceParent | undefined
  /** Names the connection to the router. Never the secret that opens a session. */
  readonly connection?: string | undefined
  /** The node that the caller wants to answer, by id or name. */
  readonly node?: string | undefined
  readonly work?: WorkReference | undefined
  readonly interaction: Interaction
}

export type Answer = { readonly result: JsonObject } | { readonly error: ProtocolFault }

export function callOptions({
  principal,
  channel,
  signal,
  trace,
  connection,
  node,
  work,
  interaction,
}: Asker): CallOptions {
  return { caller: principal, channel, signal, interaction, ...trace, sessionId: connection, node, work }
}

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
