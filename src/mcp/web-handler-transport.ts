/**
 * Web handler: runs a handler for web-standard requests on Node's HTTP server. The SDK has such an adapter, but it
 * delays the head of a stream until the first event, and a client that opens a stream to listen would wait for that.
 */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'

const STALLED_MS = 60_000

export type WebHandler = (request: Request) => Promise<Response>

/** The body was read already and is not passed on here. Resolves when the response has ended. */
export async function handleWithWebHandler(
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
  handle: WebHandler,
): Promise<void> {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  const answer = await handle(webRequest(request, gone.signal))
  if (response.destroyed) {
    await answer.body?.cancel()
    return
  }
  response.writeHead(answer.status, Object.fromEntries(answer.headers))
  if (answer.body !== null) {
    response.flushHeaders()
    await pipe(answer.body, response, gone.signal)
  }
  response.end()
}

function webRequest({ method = 'GET', url = '/', headers }: IncomingMessage, signal: AbortSignal): Request {
  const pairs = Object.entries(headers).map(([name, value = '']) => [name, String(value)] as [string, string])
  return new Request(new URL(url, 'http://localhost'), { method, headers: pairs, signal })
}

/** Ends early, and cancels the source, when the client no longer reads. */
async function pipe(source: ReadableStream<Uint8Array>, response: ServerResponse, gone: AbortSignal): Promise<void> {
  const reader = source.getReader()
  gone.addEventListener('abort', () => void reader.cancel().catch(() => undefined), { once: true })
  for (;;) {
    const { done, value } = await reader.read()
    if (done || gone.aborted) return
    if (!response.write(value)) await drained(response, gone)
  }
}

/** A client that reads nothing for this long is disconnected, so that data does not pile up. */
async function drained(response: ServerResponse, gone: AbortSignal): Promise<void> {
  const stalled = AbortSignal.timeout(STALLED_MS)
  await once(response, 'drain', { signal: AbortSignal.any([gone, stalled]) }).catch(() => undefined)
  if (stalled.aborted) response.destroy()
}
