import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createHeaderFieldReader, encodeEnvelopeHeaders } from './envelope-headers.ts'
import { encodeSseEndEvent, encodeSseFrame, SseParser } from './sse.ts'

const END = { status: 200, text: '{"ok":true,"data":1}', proof: 'hmac-sha256:AA' }

describe('server-sent events', () => {
  it('encode an event name and one line of data each, and the end event carries status and proof', () => {
    expect(encodeSseFrame({ event: 'token', data: { text: 'a\nb' } })).toBe('event: token\ndata: {"text":"a\\nb"}\n\n')
    expect(encodeSseEndEvent(END)).toBe(': 200 hmac-sha256:AA\nevent: done\ndata: {"ok":true,"data":1}\n\n')
    expect(encodeSseEndEvent({ ...END, status: 500 })).toContain('event: error\n')
  })

  it('are parsed completely, however the stream is split', () => {
    const frames = [
      { event: 'token', data: { text: 'ü\n' } },
      { event: 'chunk', data: [1, null] },
    ]
    const text = frames.map(encodeSseFrame).join('') + encodeSseEndEvent(END)
    fc.assert(
      fc.property(fc.array(fc.nat({ max: text.length }), { maxLength: 20 }), (cuts) => {
        const places = [0, ...cuts.toSorted((a, b) => a - b), text.length]
        const parser = new SseParser(1_000)
        const events = places.slice(1).flatMap((end, index) => {
          const fed = parser.feed(text.slice(places[index], end))
          return fed.ok ? fed.value : []
        })
        expect(events).toEqual([...frames.map((frame) => ({ kind: 'frame', frame })), { kind: 'end', delivered: END }])
      }),
    )
  })

  it('are parsed in linear time when they arrive byte by byte', () => {
    // Looked through anew for each of them, it would be half a million millions.
    const parser = new SseParser(1_048_576)
    for (let count = 0; count < 1_000_000; count++) parser.feed('x')
    expect(parser.feed('\n\nevent: chunk\ndata: 1\n\n')).toMatchObject({ value: [{ frame: { data: 1 } }] })
  })

  it('fail when a frame exceeds the size limit', () => {
    const parser = new SseParser(100)
    expect(parser.feed(`data: ${'x'.repeat(200)}`)).toEqual({ ok: false, fault: 'a frame is too large' })
  })

  it('reject an event name with a line feed, the reserved name done, and data that is not JSON', () => {
    expect(() => encodeSseFrame({ event: 'a\nevent: done', data: 1 })).toThrow(TypeError)
    expect(() => encodeSseFrame({ event: 'done', data: 1 })).toThrow(TypeError)
    expect(new SseParser(100).feed('event: chunk\ndata: {\n\n')).toMatchObject({ ok: false })
  })
})

describe('envelope headers', () => {
  it('decode to the same fields, even with special characters in the session name', () => {
    const fields = { capability: 'test.echo', session: 'ü b\r\nX-Evil: 1', stream: '1', traceparent: '00-a-b-01' }
    const headers = encodeEnvelopeHeaders(fields, 'ed25519:AA')
    expect(headers['x-hearthnet-session']).toBe('%C3%BC%20b%0D%0AX-Evil%3A%201')
    expect(headers['accept']).toContain('text/event-stream')
    const read = createHeaderFieldReader(headers)
    expect(Object.fromEntries(Object.keys(fields).map((field) => [field, read(field)]))).toEqual(fields)
  })

  it('read as undefined when a header is repeated or malformed', () => {
    const read = createHeaderFieldReader({ 'x-hearthnet-from': ['a', 'b'], 'x-hearthnet-session': '%zz' })
    expect([read('from'), read('session'), read('unheard-of')]).toEqual([undefined, undefined, undefined])
  })
})
