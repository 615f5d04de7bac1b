import { describe, expect, it } from 'vitest'
import { readResponseBytes, readResponseText } from './response-body.ts'

describe('the body of a response', () => {
  it('is read whole up to its limit', async () => {
    expect(await readResponseText(new Response('Küche'), 6)).toBe('Küche')
    expect(await readResponseBytes(new Response(null), 0)).toEqual(new Uint8Array())
  })

  it('is cut off where it does not end, and its source is told', async () => {
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
