import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeParameters, type HttpExchange, decodeHomeseerReply } from './exchange.ts'
import {
  getCameraSnapshot,
  getControl,
  getLocations,
  getStatus,
  getVersion,
  callPlugin,
  controlByIndex,
  controlByLabel,
  controlByUse,
  controlByValue,
  panCamera,
  runEventById,
  runEventByName,
  setDeviceProperty,
  setStoredStatus,
} from './request.ts'
import { toUtf8 } from '../../core/bytes.ts'
import { runScript, startBackup } from './script.ts'

const query = (exchange: HttpExchange<unknown>) => encodeParameters(exchange.http.query)

function answer<Value>(exchange: HttpExchange<Value>, text: string) {
  const reply = decodeHomeseerReply(toUtf8(text))
  return reply.ok ? exchange.decode(reply.value) : reply
}

describe('read request', () => {
  it('leaves out what is not asked for', () => {
    expect(query(getStatus())).toBe('request=getstatus')
    expect(query(getStatus({ refs: [412, 413], everything: true, compress: false }))).toBe(
      'request=getstatus&ref=412%2C413&compress=false&everything=true',
    )
    expect(query(getControl([412]))).toBe('request=getcontrol&ref=412')
    expect(query(getCameraSnapshot(2))).toBe('request=getcamerasnapshot&camid=2')
  })

  it('does not turn a question about nothing into a question about everything', () => {
    expect(() => getStatus({ refs: [] })).toThrow(RangeError)
  })

  it('reads version and locations', () => {
    expect(answer(getVersion(), '{"Response":"4.2.22.4"}\r\n')).toEqual({ ok: true, value: '4.2.22.4' })
    expect(answer(getVersion(), 'ok')).toMatchObject({ ok: false, fault: { kind: 'malformed' } })
    expect(answer(getLocations(), '{"location1":["All","Hall"],"location2":["Ground"]}')).toEqual({
      ok: true,
      value: { location1: ['Hall'], location2: ['Ground'] },
    })
  })

  it('reads a snapshot as bytes and as base64', () => {
    const picture = { mimeType: 'image/jpeg', bytes: new Uint8Array([0xff, 0xd8, 0xff, 0xd9]) }
    expect(getCameraSnapshot(1).decode({ kind: 'image', ...picture })).toEqual({ ok: true, value: picture })
    const encoded = answer(getCameraSnapshot(1), '{"Image":"data:image/jpeg;base64,/9j/2Q=="}')
    expect(encoded).toEqual({ ok: true, value: picture })
    expect(answer(getCameraSnapshot(1), '{"Image":"AAAA"}')).toMatchObject({ ok: false })
  })
})

describe('write request', () => {
  it('controls by value, label, index and use', () => {
    expect(query(controlByValue(412, 21.5))).toBe('request=controldevicebyvalue&ref=412&value=21.5')
    expect(query(controlByLabel(412, 'On Last Level'))).toBe(
      'request=controldevicebylabel&ref=412&label=On%20Last%20Level',
    )
    expect(query(controlByIndex(9, 0, '#ff8800'))).toBe('request=controldevicebyindex&ref=9&value=0&string=%23ff8800')
    expect(query(controlByUse([410], 'Dim', { value: 30 }))).toBe(
      'request=controldevicebycontroluse&ref=410&controluse=3&value=30',
    )
  })

  it('has a form that keeps the values out of the address', () => {
    const { http } = controlByValue(412, 99, { via: 'post' })
    expect(http).toEqual({
      method: 'POST',
      path: '/JSON',
      query: [],
      body: { contentType: 'application/json', text: '{"action":"controlbyvalue","deviceref":412,"value":99}' },
    })
    expect(controlByLabel(1, 'On', { via: 'post' }).http.body?.text).toBe(
      '{"action":"controlbylabel","deviceref":1,"label":"On"}',
    )
    expect(runEventByName('Evening', 'Dim', { via: 'post' }).http.body?.text).toBe(
      '{"action":"runevent","group":"Evening","name":"Dim"}',
    )
  })

  it('writes the other requests', () => {
    expect(query(setStoredStatus({ ref: 5, value: 1, source: 'x' }))).toBe(
      'request=setdevicestatus&ref=5&value=1&source=x',
    )
    expect(query(setDeviceProperty(5, 'UserNote', ''))).toBe('request=setdeviceproperty&ref=5&property=UserNote&value=')
    expect(query(runEventById(31))).toBe('request=runevent&id=31')
    expect(query(panCamera(1, 'leftstart'))).toBe('request=pancamera&camid=1&direction=leftstart')
    expect(query(callPlugin({ plugin: 'updater', functionName: 'Go', parameters: ['a b', 2] }))).toBe(
      'request=pluginfunction&plugin=updater&function=Go&P1=a%20b&P2=2',
    )
    expect(runScript('hs.Log("a & b")').http.body?.text).toBe(
      'action=run_script_command&scriptcommand=hs.Log(%22a%20%26%20b%22)',
    )
    expect(startBackup().http).toMatchObject({ method: 'POST', path: '/backup.html', body: { text: 'action=backup' } })
  })

  it('marks every one of them as not to be sent twice', () => {
    const writes = [controlByValue(1, 1), setStoredStatus({ ref: 1 }), runEventById(1), runScript('x'), startBackup()]
    expect(writes.map((exchange) => exchange.effect)).toEqual(writes.map(() => 'writes'))
  })

  it('takes a status reply or ok for a command that was taken', () => {
    expect(answer(controlByValue(412, 99), '{"Devices":[{"ref":412,"value":35}]}')).toMatchObject({
      ok: true,
      value: { shown: { ref: 412, value: 35 } },
    })
    expect(answer(controlByValue(412, 99), '{"Response":"ok"}')).toEqual({ ok: true, value: { shown: undefined } })
  })

  it('takes error, and an empty list of devices, for a refusal', () => {
    expect(answer(controlByValue(412, 100), 'error\r\n')).toMatchObject({ fault: { kind: 'refused', reason: 'error' } })
    expect(answer(controlByValue(999, 1), '{"Devices":[]}')).toMatchObject({ fault: { kind: 'refused' } })
  })

  it('reads script replies in pairs, odd ones too', () => {
    expect(answer(runScript('x'), '["response","done","log"]')).toEqual({
      ok: true,
      value: {
        responseArray: ['response', 'done', 'log'],
        commands: [
          { key: 'response', value: 'done' },
          { key: 'log', value: '' },
        ],
      },
    })
  })

  it('hands a plug-in function its answer, whatever it is', () => {
    const call = callPlugin({ plugin: 'p', functionName: 'f', parameters: [] })
    expect(answer(call, 'forty two')).toEqual({ ok: true, value: 'forty two' })
    expect(answer(call, '{"a":1}')).toEqual({ ok: true, value: { a: 1 } })
  })
})

describe('parameters', () => {
  it('are read back by the decoder of the platform, a plus as a plus', () => {
    const parameters = fc.uniqueArray(fc.tuple(fc.stringMatching(/^[a-z]{1,8}$/), fc.string({ unit: 'grapheme' })), {
      selector: ([name]) => name,
    })
    fc.assert(
      fc.property(parameters, (pairs) => {
        expect([...new URLSearchParams(encodeParameters(pairs))]).toEqual(pairs)
      }),
    )
  })
})
