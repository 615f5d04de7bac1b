import { describe, expect, it } from 'vitest'
import { readResponseBytes, readResponseText } from './response-body.ts'

describe('reading the body of a response', () => {
  it('returns a body up to its limit', async () => {
    expect(await readResponseText(new Response('Küche'), 6)).toBe('Küche')
    expect(await readResponseBytes(new Response(null), 0)).toEqual(new Uint8Array())
  })

  it('stops at the limit, and cancels the source', async () => {
    let isCancelled = false
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(1_024)),
      cancel: () => {
        isCancelled = true
      },
    })
    expect(await readResponseText(new Response(endless), 10_000)).toBeUndefined()
    expect(isCancelled).toBe(true)
  })
})
