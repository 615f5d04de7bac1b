/**
 * Asker: who asks, through which door, and what can reach them while the call runs, turned into MCP notifications.
 *
 * Pure.
 */
import type { Channel, Interaction } from '../bus/call.ts'
import type { WorkReference } from '../core/fault.ts'
import type { JsonObject, Json } from '../core/json.ts'
import type { Catalogue } from './catalogue.ts'
import type { CallOptions, Principal } from './face-bus.ts'
import { isWanted } from './log-level.ts'
import type { LogLevel } from './log-level.ts'
import type { ProtocolFault } from './protocol-error.ts'
import type { TraceParent } from '../toolbox/traceparent.ts'
import { isJsonObject } from '../core/json.ts'

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

// Node pin: which node a request is for, when the caller says so. Three places, the nearest to the call first:
//
//   arguments._node                  what a model can fill in; listed only where several nodes offer the tool
//   _meta["io.hearthbus/node"]       what a client's program can fill in
//   /mcp?node=…, hearthbus mcp --node    for a whole connection: its lists are that node's
//
// A pin that cannot be read is never dropped: the call would run in another house than its caller meant.

export const NODE_META_KEY = 'io.hearthbus/node'
export const NODE_ARGUMENT = '_node'

const MAX_NODE = 128

/** What a request's `_meta` says, else what the connection says. Nonsense names no node, and finds none. */
export function nodeIn(meta: Readonly<Record<string, unknown>>, otherwise: string | undefined): string | undefined {
  const given = meta[NODE_META_KEY]
  if (given === undefined) return otherwise
  return spelt(given)
}

export interface Pinned {
  readonly node: string | undefined
  readonly body: JsonObject
}

/** Takes the pin out of a tool's arguments, unless the tool has an argument of that name itself. */
export function pinIn(body: JsonObject, schema: unknown, otherwise: string | undefined): Pinned {
  if (!Object.hasOwn(body, NODE_ARGUMENT) || declares(schema)) return { node: otherwise, body }
  const { [NODE_ARGUMENT]: given, ...rest } = body
  return { node: spelt(given), body: rest }
}

/** The schema as a list shows it: with the pin where there is a choice and the tool has no such argument itself. */
export function withPin(schema: JsonObject, nodes: readonly string[]): JsonObject {
  const { properties = {} } = schema
  if (nodes.length < 2 || declares(schema) || !isJsonObject(properties)) return schema
  const pin: Json = {
    type: 'string',
    description: `Which node this is for: ${nodes.join(', ')}. Without it the usual one is chosen.`,
  }
  return { ...schema, properties: { ...properties, [NODE_ARGUMENT]: pin } }
}

function declares(schema: unknown): boolean {
  const properties = isJsonObject(schema) ? schema['properties'] : undefined
  return isJsonObject(properties) && Object.hasOwn(properties, NODE_ARGUMENT)
}

function spelt(given: unknown): string {
  return (typeof given === 'string' ? given : JSON.stringify(given)).slice(0, MAX_NODE)
}

const TASK_META_KEY = 'io.hearthbus/task'
const SESSION_META_KEY = 'io.hearthbus/session'
/** Ids of the runtime are shorter. */
const MAX_WORK_ID = 128

/**
 * Names that are no text, empty or too long are left out: a mistake in `_meta` must not break a call. The answer says
 * which names were recorded.
 */
export function workIn(meta: Readonly<Record<string, unknown>>): WorkReference | undefined {
  const [taskId, sessionId] = [workId(meta[TASK_META_KEY]), workId(meta[SESSION_META_KEY])]
  if (taskId === undefined && sessionId === undefined) return undefined
  return { ...(taskId === undefined ? {} : { taskId }), ...(sessionId === undefined ? {} : { sessionId }) }
}

function workId(given: unknown): string | undefined {
  return typeof given === 'string' && given !== '' && given.length <= MAX_WORK_ID && given.isWellFormed()
    ? given
    : undefined
}
