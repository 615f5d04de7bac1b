/**
 * Modern server: revision 2026-07-28 over HTTP, by hand, for requests that are as they should be. Everything that a
 * client sends often takes this way; the SDK takes the rest.
 *
 * Closing the response is how such a client withdraws its request.
 *
 * Does I/O.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { JsonObject } from '../core/json.ts'
import { answer } from './answer.ts'
import type { Answering } from './answer.ts'
import type { Answer } from './asker.ts'
import type { Catalogue } from './catalogue.ts'
import type { Principal } from './face-bus.ts'
import { INSTRUCTIONS } from './instructions.ts'
import { speaking } from './interaction.ts'
import { MODERN_REVISION } from './modern-request.ts'
import type { ModernRequest } from './modern-request.ts'
import { statusOf } from './modern-result.ts'
import type { ModernText } from './modern-result.ts'
import { paramHeaderMismatch } from './param-headers.ts'
import { HEADER_MISMATCH, INVALID_PARAMS } from './protocol-error.ts'
import { replyTransport } from './reply-transport.ts'
import { METHODS, readRequest } from './request.ts'
import type { McpRequest } from './request.ts'
import { CAPABILITIES } from './sdk-server.ts'
import { parseTraceparent } from './traceparent.ts'

export interface ModernServing extends Answering {
  readonly text: ModernText
  readonly keepAliveMs: number
}

export interface Visitor {
  readonly principal: Principal
  readonly catalogue: Catalogue
}

const SERVED: ReadonlySet<string> = new Set([...METHODS, 'server/discover'])
const DISCOVERED: JsonObject = {
  supportedVersions: [MODERN_REVISION],
  capabilities: CAPABILITIES,
  instructions: INSTRUCTIONS,
}

export function isServedByHand({ method }: ModernRequest): boolean {
  return SERVED.has(method)
}

export async function serveModern(
  serving: ModernServing,
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
  asked: ModernRequest,
  visitor: Visitor,
): Promise<void> {
  const reply = replyTransport(response, serving)
  const withdrawn = new AbortController()
  response.once('close', () => {
    if (!response.writableFinished) withdrawn.abort()
  })
  const interaction = { ...speaking({ ...asked, notify: reply.notify }), ...asked.asked }
  const said = await answered(serving, asked, request, { ...visitor, interaction, signal: withdrawn.signal })
  if ('result' in said) {
    reply.finish(
      `{"jsonrpc":"2.0","id":${JSON.stringify(asked.id)},"result":${serving.text(asked.method, said.result)}}`,
    )
    return
  }
  const { status = statusOf(said.error) } = said
  reply.finish(JSON.stringify({ jsonrpc: '2.0', id: asked.id, error: said.error }), status)
}

type Reaching = Visitor & {
  readonly interaction: Parameters<typeof answer>[2]['interaction']
  readonly signal: AbortSignal
}

/** `status` only where the request itself is at fault. */
async function answered(
  serving: ModernServing,
  asked: ModernRequest,
  request: IncomingMessage,
  { principal, catalogue, interaction, signal }: Reaching,
): Promise<Answer & { readonly status?: number }> {
  if (asked.method === 'server/discover') return { result: DISCOVERED }
  const wanted = readRequest(asked.method, asked.params)
  if (wanted === undefined) return { error: { code: INVALID_PARAMS, message: `Invalid params for ${asked.method}` } }
  const mismatch = headerMismatch(wanted, catalogue, request)
  if (mismatch !== undefined) return { error: mismatch, status: 400 }
  return answer(serving, wanted, {
    principal: asked.clientName === undefined ? principal : { ...principal, client: asked.clientName },
    catalogue,
    channel: 'mcp-http',
    era: 'modern',
    signal,
    trace: parseTraceparent(asked.meta['traceparent'] ?? request.headers['traceparent']),
    interaction,
  })
}

function headerMismatch(wanted: McpRequest, catalogue: Catalogue, { headers }: IncomingMessage) {
  if (wanted.method !== 'tools/call') return undefined
  const entry = catalogue.tool(catalogue.canonicalTool(wanted.name) ?? wanted.name)
  const mismatch = entry === undefined ? undefined : paramHeaderMismatch(entry.headers, wanted.arguments, headers)
  if (mismatch === undefined) return undefined
  const message = `Bad Request: the request headers and body disagree: ${mismatch.body}`
  return { code: HEADER_MISMATCH, message, data: { mismatch } }
}
