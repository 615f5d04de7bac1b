import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toUtf8 } from '../../core/bytes.ts'
import { decodeMultipart, encodeMultipart, parseMultipartBoundary } from './multipart.ts'

const BOUNDARY = '----ESP32_CAMERA_BOUNDARY'

describe('multipart form', () => {
  it('reads the boundary from the content type', () => {
    expect(parseMultipartBoundary('multipart/form-data; boundary=----ESP32_CAMERA_BOUNDARY')).toBe(BOUNDARY)
    expect(parseMultipartBoundary('multipart/form-data; charset=x; boundary="a b"')).toBe('a b')
    expect(parseMultipartBoundary('application/json')).toBeUndefined()
    expect(parseMultipartBoundary(undefined)).toBeUndefined()
  })

  it('reads the form that a camera posts', () => {
    const body =
      '------ESP32_CAMERA_BOUNDARY\r\nContent-Disposition: form-data; name="question"\r\n\r\nwho?\r\n' +
      '------ESP32_CAMERA_BOUNDARY\r\nContent-Disposition: form-data; name="file"; filename="camera.jpg"\r\n' +
      'Content-Type: image/jpeg\r\n\r\n\u0001\r\n--\u0002\r\n------ESP32_CAMERA_BOUNDARY--\r\n'
    expect(decodeMultipart(BOUNDARY, toUtf8(body))).toEqual({
      ok: true,
      value: [
        { name: 'question', filename: undefined, contentType: undefined, bytes: toUtf8('who?') },
        { name: 'file', filename: 'camera.jpg', contentType: 'image/jpeg', bytes: toUtf8('\u0001\r\n--\u0002') },
      ],
    })
  })

  it('refuses a truncated form, and text that is not a form', () => {
    expect(decodeMultipart(BOUNDARY, toUtf8('nothing')).ok).toBe(false)
    const whole = encodeMultipart('b', [
      { name: 'file', filename: 'x', contentType: 'image/jpeg', bytes: toUtf8('abc') },
    ])
    for (let size = 0; size < whole.length - 4; size++)
      expect(decodeMultipart('b', whole.subarray(0, size)).ok).toBe(false)
  })

  it('refuses more parts than a camera sends', () => {
    const part = { name: 'file', filename: undefined, contentType: undefined, bytes: toUtf8('') }
    expect(
      decodeMultipart(
        'b',
        encodeMultipart(
          'b',
          Array.from({ length: 20 }, () => part),
        ),
      ).ok,
    ).toBe(false)
  })

  it('decodes any bytes that it encoded', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 500 }), (bytes) => {
        const part = { name: 'file', filename: 'camera.jpg', contentType: 'image/jpeg', bytes }
        expect(decodeMultipart(BOUNDARY, encodeMultipart(BOUNDARY, [part]))).toEqual({ ok: true, value: [part] })
      }),
    )
  })
})
