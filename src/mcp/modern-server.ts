/**
 * Modern server: revision 2026-07-28 over HTTP, by hand, for requests that are as they should be. Everything that a
 * client sends often takes this way; the SDK takes the rest.
 *
 * Closing the response is how such a client withdraws its request.
 *
 * Does I/O.
 */
import type { ServerResponse } from 'node:http'
import type { JsonObject } from '../core/json.ts'
import { parseTraceparent } from '../toolbox/traceparent.ts'
import { answer } from './answer.ts'
import type { Answering } from './answer.ts'
import type { Answer } from './asker.ts'
import { speaking, nodeIn, workIn } from './asker.ts'
import { headerMismatch, MODERN_REVISION } from './modern-request.ts'
import { instructionsFor } from './instructions.ts'
import type { ModernRequest } from './modern-request.ts'
import { statusOf } from './results.ts'
import type { ResultText } from './results.ts'
import { INVALID_PARAMS } from './protocol-error.ts'
import { replyTransport } from './exchange-transport.ts'
import type { ReplyTransport } from './exchange-transport.ts'
import { METHODS, misshapen, readRequest } from './request.ts'
import { CAPABILITIES } from './sdk-server.ts'
import type { Visit } from './visit.ts'

export interface ModernServing extends Answering {
  readonly text: ResultText
  readonly keepAliveMs: number
}

const SERVED: ReadonlySet<string> = new Set([...METHODS, 'server/discover'])

export function isServedByHand({ method }: ModernRequest): boolean {
  return SERVED.has(method)
}

export async function serveModern(serving: ModernServing, visit: Visit, asked: ModernRequest): Promise<void> {
  const reply = replyTransport(visit.response, serving)
  const said = await answered(serving, visit, { ...asked, notify: reply.notify })
  if ('result' in said) reply.finish(serving.text(asked, said.result))
  else reply.finish(JSON.stringify({ jsonrpc: '2.0', id: asked.id, error: said.error }), statusOf(said.error))
}

async function answered(
  serving: ModernServing,
  visit: Visit,
  asked: ModernRequest & Pick<ReplyTransport, 'notify'>,
): Promise<Answer> {
  if (asked.method === 'server/discover') return { result: discovered(visit) }
  const wanted = readRequest(asked.method, asked.params)
  if (wanted === undefined) return { error: { code: INVALID_PARAMS, message: misshapen(asked.method) } }
  const { principal, door, catalogue, request, response } = visit
  const mismatch = wanted.method === 'tools/call' ? headerMismatch(wanted, catalogue, request.headers) : undefined
  if (mismatch !== undefined) return { error: mismatch }
  return answer(serving, wanted, {
    principal: asked.clientName === undefined ? principal : { ...principal, client: asked.clientName },
    catalogue,
    channel: 'mcp-http',
    era: 'modern',
    signal: withdrawal(response),
    trace: parseTraceparent(asked.meta['traceparent'] ?? request.headers['traceparent']),
    node: nodeIn(asked.meta, door.node),
    work: workIn(asked.meta),
    interaction: { ...speaking(asked), ...asked.asked },
  })
}

function discovered({ catalogue }: Visit): JsonObject {
  return {
    supportedVersions: [MODERN_REVISION],
    capabilities: CAPABILITIES,
    instructions: instructionsFor(catalogue.view),
  }
}

/** Aborts when the client closes the response before it has all of it. */
function withdrawal(response: ServerResponse): AbortSignal {
  const withdrawn = new AbortController()
  response.once('close', () => {
    if (!response.writableFinished) withdrawn.abort()
  })
  return withdrawn.signal
}
