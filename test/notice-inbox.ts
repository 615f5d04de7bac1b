/** Notice inbox: a place that people are told at, on a real socket, which keeps what was brought there. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { startListening } from '../src/core/listen-server.ts'

export interface Letter {
  readonly request: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

export interface Inbox extends AsyncDisposable {
  readonly url: string
  /** Whatever arrived, taken or not. */
  readonly letters: readonly Letter[]
  /** From now on every letter is answered with this, 200 so far. */
  readonly answer: (status: number, headers?: Record<string, string>) => void
  readonly close: () => Promise<void>
}

export async function openInbox(port = 0): Promise<Inbox> {
  const letters: Letter[] = []
  let answer: readonly [status: number, headers: Record<string, string>] = [200, {}]
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request)
    letters.push({ request: `${request.method} ${request.url}`, headers: request.headers, body })
    response.writeHead(...answer).end('whatever it says')
  }
  const server = createServer((request, response) => {
    // Who sends and goes away before the end has sent nothing.
    take(request, response).catch(() => response.destroy())
  })
  const taken = await startListening(server, { host: '127.0.0.1', port })
  const close = async (): Promise<void> => {
    if (!server.listening) return
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
  return {
    url: `http://127.0.0.1:${taken}`,
    letters,
    answer: (status, headers = {}) => {
      answer = [status, headers]
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}
