import { describe, expect, it } from 'vitest'
import { decodeWebhook } from './webhook.ts'
import { decodeReply } from './reply.ts'
import { receivedJson } from './received-json.ts'

describe('received JSON', () => {
  it('is what JSON says, as long as its characters are whole', () => {
    expect(receivedJson(String.raw`{"a":"\ud83d\ude00 \u00e4 \\ud83d 😀"}`)).toEqual({ a: '😀 ä \\ud83d 😀' })
    expect(receivedJson('{"a":')).toBeUndefined()
    expect(receivedJson(undefined)).toBeUndefined()
  })

  it.each([
    [String.raw`"cut \ud83d"`, 'cut \ufffd'],
    [String.raw`"\uDE00 rest"`, '\ufffd rest'],
    [String.raw`"\ud83d\ud83d\ude00"`, '\ufffd😀'],
    [String.raw`"\\\ud83d\n"`, '\\\ufffd\n'],
    [String.raw`"\ud83d\\ude00"`, '\ufffd\\ude00'],
  ])('has a mark where half a character was: %s', (text, read) => {
    expect(receivedJson(text)).toBe(read)
  })

  it('has a mark in names of members, too', () => {
    expect(receivedJson(String.raw`{"\ud83d":[{"x":"\ude00"}]}`)).toEqual({ '\ufffd': [{ x: '\ufffd' }] })
  })

  it('is what replies and web hooks are read from', () => {
    const body = (text: string) => Buffer.from(text, 'utf8')
    expect(decodeReply(body(String.raw`{"Devices":[{"ref":1,"name":"Song \ud83d"}]}`))).toMatchObject({
      value: { value: { Devices: [{ name: 'Song \ufffd' }] } },
    })
    const hook = String.raw`{"type":"devicechange","data":{"ref":1,"value":0,"status":"\ud83d"}}`
    expect(decodeWebhook(body(hook))).toMatchObject({ value: { status: '\ufffd' } })
  })
})
