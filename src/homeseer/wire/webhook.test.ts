import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toUtf8 } from '../../core/bytes.ts'
import { decodeWebhook, encodeWebhook } from './webhook.ts'

const BODY =
  '{"type":"devicechange","data":{"ref":412,"name":"Hall Lamp Level","location":"Hall","location2":"Ground","value":99,"status":"On","last_change":"/Date(1767225660000+0100)/"}}'

describe('web hook', () => {
  it('is decoded and encoded as a device change', () => {
    const change = decodeWebhook(toUtf8(BODY))
    expect(change).toMatchObject({
      ok: true,
      value: { ref: 412, value: 99, status: 'On', lastChangeMs: 1_767_225_660_000 },
    })
    expect(change.ok && change.value && encodeWebhook(change.value, '+0100')).toBe(BODY)
  })

  it('of another type is ignored', () => {
    expect(decodeWebhook(toUtf8('{"type":"eventrun","data":{}}'))).toEqual({ ok: true, value: undefined })
  })

  it('has half a surrogate pair in its status replaced', () => {
    const hook = String.raw`{"type":"devicechange","data":{"ref":1,"value":0,"status":"\ud83d"}}`
    expect(decodeWebhook(toUtf8(hook))).toMatchObject({ value: { status: '\ufffd' } })
  })

  it('without a device is refused', () => {
    expect(decodeWebhook(toUtf8('{"type":"devicechange","data":{"ref":-4,"value":1}}'))).toMatchObject({ ok: false })
    expect(decodeWebhook(toUtf8('{"type":"devicechange"}'))).toMatchObject({ ok: false })
    expect(decodeWebhook(toUtf8('['))).toMatchObject({ ok: false })
  })

  it('never makes the decoder throw', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(decodeWebhook(bytes).ok).toBeTypeOf('boolean')
      }),
    )
  })
})
