import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../core/json.ts'
import { decodeToolResult } from './tool-result.ts'

/** One grey pixel: ITU T.81, annex B. */
const JPEG =
  '/9j/2wBDAAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQH/wAALCAABAAEBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAAP/EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AP//Z'
const content = (...items: Json[]) => decodeToolResult({ content: items, isError: false })

describe('tool result', () => {
  it('keeps text unchanged', () => {
    expect(content({ type: 'text', text: 'true' })).toEqual({
      ok: true,
      value: { content: [{ type: 'text', text: 'true' }], isError: false, structured: undefined },
    })
  })

  it('offers text that is a JSON object as structured content, too', () => {
    expect(content({ type: 'text', text: '{"audio_speaker":{"volume":70}}' })).toMatchObject({
      value: { structured: { audio_speaker: { volume: 70 } } },
    })
    expect(content({ type: 'text', text: '{broken' })).toMatchObject({ value: { structured: undefined } })
  })

  it('unwraps an image that firmware nests in a string', () => {
    const wrapped = { type: 'image', image: `{"type":"image","mimeType":"image/jpeg","data":"${JPEG}"}` }
    expect(content(wrapped)).toMatchObject({
      value: { content: [{ type: 'image', data: JPEG, mimeType: 'image/jpeg' }] },
    })
  })

  it('keeps standard images and audio', () => {
    const items = [
      { type: 'image', data: JPEG, mimeType: 'image/jpeg' },
      { type: 'audio', data: 'T2dnUw==', mimeType: 'audio/ogg' },
    ]
    expect(content(...items)).toMatchObject({ value: { content: items } })
  })

  it('takes the media type of an image from its bytes, and drops what follows the image', () => {
    // One pixel.
    const data = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='
    const png = { type: 'image', data, mimeType: 'text/html' }
    expect(content(png)).toMatchObject({ value: { content: [{ ...png, mimeType: 'image/png' }] } })
    // With a page behind it, of which nothing is passed on.
    const page = Buffer.concat([Buffer.from(data, 'base64'), Buffer.from('<html>')]).toString('base64')
    expect(content({ ...png, data: page })).toMatchObject({ value: { content: [{ data, mimeType: 'image/png' }] } })
  })

  it('turns undecodable or mislabelled images into text', () => {
    const items: Json[] = [
      { type: 'image', data: 'not base64!', mimeType: 'image/jpeg' },
      // "<svg/>" and "<html>", whatever they call themselves.
      { type: 'image', data: 'PHN2Zy8+', mimeType: 'image/svg+xml' },
      { type: 'image', data: 'PGh0bWw+', mimeType: 'image/jpeg' },
      // A sound that says it is a picture.
      { type: 'image', data: 'T2dnUw==', mimeType: 'image/png' },
      { type: 'image', data: `/9j/${'A'.repeat(6_000_000)}`, mimeType: 'image/jpeg' },
      // The first eight bytes of a PNG: a client that passes it on is refused by its model.
      { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' },
      { type: 'image', image: 'nonsense' },
      { type: 'resource', uri: 'x' },
      7,
    ]
    const result = content(...items)
    expect(result.ok && result.value.content.map((item) => item.type)).toEqual(items.map(() => 'text'))
    expect(JSON.stringify(result).length).toBeLessThan(2_000)
  })

  it('keeps the isError flag', () => {
    expect(decodeToolResult({ content: [], isError: true })).toMatchObject({ value: { isError: true } })
  })

  it('refuses a result without a content list', () => {
    for (const result of [null, 7, {}, { content: 'x' }, { content: Array.from({ length: 65 }, () => 1) }])
      expect(decodeToolResult(result).ok).toBe(false)
  })

  it('never throws on any content', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(decodeToolResult({ content: [value as Json] }).ok).toBe(true)
      }),
    )
  })
})
