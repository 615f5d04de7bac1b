import { describe, expect, it } from 'vitest'
import type { WebhookChange } from './webhook.ts'
import { createWebhookHandler } from './webhook-handler.ts'

const KEY = 'a-key-of-some-length'
const BODY = '{"type":"devicechange","data":{"ref":412,"value":99,"status":"On"}}'

function receiver() {
  const seen: WebhookChange[] = []
  const handle = createWebhookHandler({ key: KEY, onChange: (change) => seen.push(change) })
  const post = (body: string | undefined, key = KEY, method = 'POST') =>
    handle(new Request(`http://host/hook?key=${key}`, { method, ...(body === undefined ? {} : { body }) }))
  return { seen, post }
}

describe('web hook receiver', () => {
  it('passes a device change on', async () => {
    const { seen, post } = receiver()
    expect((await post(BODY)).status).toBe(200)
    expect(seen).toMatchObject([{ ref: 412, value: 99, status: 'On' }])
  })

  it('refuses a request without the key', async () => {
    const { seen, post } = receiver()
    expect((await post(BODY, 'wrong')).status).toBe(403)
    expect((await post(BODY, '')).status).toBe(403)
    expect(seen).toEqual([])
  })

  it('refuses other methods, malformed bodies and oversized bodies', async () => {
    const { seen, post } = receiver()
    expect((await post(undefined, KEY, 'GET')).status).toBe(405)
    expect((await post('{')).status).toBe(400)
    expect((await post('x'.repeat(70_000))).status).toBe(413)
    expect((await post('{"type":"other"}')).status).toBe(200)
    expect(seen).toEqual([])
  })

  it('refuses to start with a short key', () => {
    expect(() => createWebhookHandler({ key: 'short', onChange: () => undefined })).toThrow(RangeError)
  })
})
