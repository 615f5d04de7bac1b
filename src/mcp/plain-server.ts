/**
 * Plain server: requests of the 2025 family that ask for one answer, answered by hand with one. Most calls are such,
 * and the SDK's way costs ten times as much.
 *
 *   answer ─┬─▶ said nothing else      application/json
 *           ├─▶ logged meanwhile       text/event-stream: the logs, then the result
 *           └─▶ the handler asks back  handed to the SDK with what is known so far: it asks the client and goes on
 */
import type { Server } from '@modelcontextprotocol/server'
import type { JsonObject } from '../core/json.ts'
import { isJsonObject } from '../core/json.ts'
import { parseTraceparent } from '../toolbox/traceparent.ts'
import { answerRequest } from './answer-request.ts'
import type { RequestHandling } from './answer-request.ts'
import type { McpAnswer, McpCaller } from './request.ts'
import { createInteraction, readPinnedNode, readWorkReference, explainMalformedParams, readRequest } from './request.ts'
import type { McpConnection, LoggedMessage } from './connection.ts'
import type { LegacyRequest } from './legacy-request.ts'
import type { RequestId } from './modern-server.ts'
import { INVALID_PARAMS } from './protocol-error.ts'
import { replyTransport } from './exchange-transport.ts'
import type { ResultFormatter } from './results.ts'
import type { AuthenticatedRequest } from './authenticated-request.ts'

export interface PlainServing extends RequestHandling {
  readonly text: ResultFormatter
  readonly keepAliveMs: number
}

export interface PlainSession {
  readonly server: Server
  readonly connection: McpConnection
  /** Requests under way, for when the client withdraws one. */
  readonly underWay: Map<RequestId, AbortController>
}

export interface PlainRequest extends AuthenticatedRequest {
  readonly session: PlainSession
  readonly sessionId: string
}

/** More than this is not a log any more. */
const MAX_SAID = 1_000
/** A call that may take longer needs a stream from the start: nobody waits for the head of a response for ever. */
const MAX_PLAIN_SECONDS = 60

/** `false`: it is not plain after all, and the session's SDK server goes on from what is known so far. */
export async function servePlain(serving: PlainServing, visit: PlainRequest, asked: LegacyRequest): Promise<boolean> {
  const { session, sessionId, response } = visit
  if (mayTakeLong(visit, asked)) return false
  const withdrawn = new AbortController()
  const said: LoggedMessage[] = []
  session.underWay.set(asked.id, withdrawn)
  const found = await answered(serving, asked, askerOf(visit, asked, { said, signal: withdrawn.signal }))
  if (session.underWay.get(asked.id) === withdrawn) session.underWay.delete(asked.id)
  const reply = replyTransport(response, { ...serving, headers: { 'mcp-session-id': sessionId } })
  if (withdrawn.signal.aborted) {
    reply.abandon()
    return true
  }
  if ('result' in found && found.result['resultType'] === 'input_required') {
    session.connection.begun.set(asked.id, { said, result: found.result })
    return false
  }
  for (const { method, params } of said) reply.notify(method, params)
  if ('result' in found) reply.finish(serving.text(asked, found.result))
  else reply.finish(JSON.stringify({ jsonrpc: '2.0', id: asked.id, error: found.error }))
  return true
}

function mayTakeLong({ catalogue }: PlainRequest, { method, params: { name } }: LegacyRequest): boolean {
  if (method !== 'tools/call' || typeof name !== 'string') return false
  const entry = catalogue.tool(catalogue.canonicalTool(name) ?? name)
  return entry !== undefined && entry.offer.timeoutSeconds > MAX_PLAIN_SECONDS
}

function answered(serving: PlainServing, { method, params }: LegacyRequest, asker: McpCaller): Promise<McpAnswer> {
  const wanted = readRequest(method, params)
  if (wanted !== undefined) return answerRequest(serving, wanted, asker)
  return Promise.resolve({ error: { code: INVALID_PARAMS, message: explainMalformedParams(method) } })
}

function askerOf(
  { session: { server, connection }, principal, catalogue, request }: PlainRequest,
  { meta }: LegacyRequest,
  { said, signal }: { readonly said: LoggedMessage[]; readonly signal: AbortSignal },
): McpCaller {
  const client = server.getClientVersion()?.name
  const declared: unknown = server.getClientCapabilities()
  const notify = (method: string, params: JsonObject): void => {
    if (said.length < MAX_SAID) said.push({ method, params })
  }
  return {
    principal: client === undefined ? principal : { ...principal, client },
    catalogue,
    channel: connection.channel,
    era: 'legacy',
    connection: connection.id,
    signal,
    trace: parseTraceparent(meta['traceparent'] ?? request.headers['traceparent']),
    node: readPinnedNode(meta, connection.node),
    work: readWorkReference(meta),
    interaction: {
      ...createInteraction({ progressToken: undefined, logLevel: connection.logLevel, notify }),
      ...(isJsonObject(declared) ? { clientCapabilities: declared } : {}),
    },
  }
}
