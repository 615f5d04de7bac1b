import { createServer } from 'node:http'
import type { Server, ServerResponse } from 'node:http'
import { afterEach, expect, it } from 'vitest'
import { startListening } from '../core/listen-server.ts'
import { createReplyTransport } from './reply-transport.ts'
import type { SerializedMessage } from './mcp-results.ts'

let server: Server
afterEach(() => server.close())

/** Five clients ask; when all have, each gets this. How many answers were handed over in each turn of the event loop. */
async function handedOver(
  message: SerializedMessage,
): Promise<{ perTurn: readonly number[]; texts: readonly string[] }> {
  const asked: ServerResponse[] = []
  const all = new Promise<void>((resolve) => {
    server = createServer((_, response) => {
      if (asked.push(response) === 5) resolve()
    })
  })
  const port = await startListening(server, { host: '127.0.0.1', port: 0 })
  const answers = Array.from({ length: 5 }, async () => (await fetch(`http://127.0.0.1:${port}/`)).text())
  await all
  const handed: ServerResponse[] = []
  for (const response of asked) response.once('prefinish', () => handed.push(response))
  for (const response of asked) createReplyTransport(response, { keepAliveMs: 60_000 }).finish(message)
  const perTurn = [handed.length]
  for (let before = handed.length; handed.length < 5; before = handed.length) {
    await new Promise(setImmediate)
    perTurn.push(handed.length - before)
  }
  return { perTurn, texts: await Promise.all(answers) }
}

it('sends long lists one per event loop turn, so that simultaneous requests do not block the loop', async () => {
  const list = 'x'.repeat(300_000)
  const { perTurn, texts } = await handedOver([Buffer.from('['), Buffer.from(list), Buffer.from(']')])
  expect(perTurn).toEqual([0, 1, 1, 1, 1, 1])
  expect(texts).toEqual(Array.from({ length: 5 }, () => `[${list}]`))
})

it('sends any other answer at once', async () => {
  expect((await handedOver('{"ok":true}')).perTurn).toEqual([5])
  server.close()
  expect((await handedOver([Buffer.from('[]')])).perTurn).toEqual([5])
})
