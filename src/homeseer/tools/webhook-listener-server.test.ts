import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, it } from 'vitest'
import { startWebhookListener } from './webhook-listener-server.ts'

it('limits its connections, and still accepts HomeSeer’s web hook', async () => {
  const started = await startWebhookListener(async () => new Response('ok'), {
    hostKey: 'homeseer.push.webhookHost',
    host: '127.0.0.1',
    portKey: 'homeseer.push.webhookPort',
    port: 0,
    protocol: 'tcp',
  })
  if (!started.ok) throw new Error(started.fault)
  const sockets = Array.from({ length: 100 }, () => connect(started.value.port, '127.0.0.1'))
  const ended: Promise<unknown>[] = sockets.map((socket) =>
    once(
      socket.resume().on('error', () => undefined),
      'close',
    ),
  )
  let closed = 0
  for (const end of ended) void end.then(() => closed++)
  await expect.poll(() => closed).toBeGreaterThanOrEqual(36)
  const post = await fetch(`http://127.0.0.1:${started.value.port}/`, { method: 'POST', body: '{}' })
  expect(await post.text()).toBe('ok')
  await started.value.stop()
  await Promise.all(ended)
})
