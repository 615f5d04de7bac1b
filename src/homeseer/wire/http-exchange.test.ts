import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  createGenericHomeseerRequest,
  encodeHttpParameters,
  type HomeseerRequestDefinition,
  decodeHomeseerReply,
} from './http-exchange.ts'
import {
  createCameraSnapshotRequest,
  createControlsRequest,
  createStatusRequest,
  createVersionRequest,
  createPluginFunctionRequest,
  createControlByIndexRequest,
  createControlByValueRequest,
  createCameraPanRequest,
  createEventRunByIdRequest,
  createEventRunByNameRequest,
  createDevicePropertyWriteRequest,
  createStoredStatusWriteRequest,
} from './json-requests.ts'
import { toUtf8 } from '../../core/bytes.ts'
import { createScriptRunRequest, createBackupRequest } from './script-and-backup-pages.ts'

const query = (exchange: HomeseerRequestDefinition<unknown>) => encodeHttpParameters(exchange.http.query)

function answer<Value>(exchange: HomeseerRequestDefinition<Value>, text: string) {
  const reply = decodeHomeseerReply(toUtf8(text))
  return reply.ok ? exchange.decode(reply.value) : reply
}

describe('HomeSeer read request', () => {
  it('omits parameters that were not given', () => {
    expect(query(createStatusRequest())).toBe('request=getstatus')
    expect(query(createStatusRequest({ refs: [412, 413], everything: true, compress: false }))).toBe(
      'request=getstatus&ref=412%2C413&compress=false&everything=true',
    )
    expect(query(createControlsRequest([412]))).toBe('request=getcontrol&ref=412')
    expect(query(createCameraSnapshotRequest(2))).toBe('request=getcamerasnapshot&camid=2')
  })

  it('refuses an empty list of refs, which would request all devices', () => {
    expect(() => createStatusRequest({ refs: [] })).toThrow(RangeError)
  })

  it('decodes the version', () => {
    expect(answer(createVersionRequest(), '{"Response":"4.2.22.4"}\r\n')).toEqual({ ok: true, value: '4.2.22.4' })
    expect(answer(createVersionRequest(), 'ok')).toMatchObject({ ok: false, fault: { kind: 'malformed' } })
  })

  it('decodes a snapshot from bytes and from base64', () => {
    const picture = { mimeType: 'image/jpeg', bytes: new Uint8Array([0xff, 0xd8, 0xff, 0xd9]) }
    expect(createCameraSnapshotRequest(1).decode({ kind: 'image', ...picture })).toEqual({ ok: true, value: picture })
    const encoded = answer(createCameraSnapshotRequest(1), '{"Image":"data:image/jpeg;base64,/9j/2Q=="}')
    expect(encoded).toEqual({ ok: true, value: picture })
    expect(answer(createCameraSnapshotRequest(1), '{"Image":"AAAA"}')).toMatchObject({ ok: false })
  })
})

describe('HomeSeer write request', () => {
  it('encodes controls by value and index, and other controls in a generic form', () => {
    expect(query(createControlByValueRequest(412, 21.5))).toBe('request=controldevicebyvalue&ref=412&value=21.5')
    expect(
      query(createGenericHomeseerRequest('controldevicebylabel', { ref: 412, label: 'On Last Level' }, 'writes')),
    ).toBe('request=controldevicebylabel&ref=412&label=On%20Last%20Level')
    expect(query(createControlByIndexRequest(9, 0, '#ff8800'))).toBe(
      'request=controldevicebyindex&ref=9&value=0&string=%23ff8800',
    )
    expect(
      query(
        createGenericHomeseerRequest('controldevicebycontroluse', { ref: [410], controluse: 3, value: 30 }, 'writes'),
      ),
    ).toBe('request=controldevicebycontroluse&ref=410&controluse=3&value=30')
  })

  it('encodes status, properties, events and the other changes', () => {
    expect(query(createStoredStatusWriteRequest({ ref: 5, value: 1, source: 'x' }))).toBe(
      'request=setdevicestatus&ref=5&value=1&source=x',
    )
    expect(query(createDevicePropertyWriteRequest(5, 'UserNote', ''))).toBe(
      'request=setdeviceproperty&ref=5&property=UserNote&value=',
    )
    expect(query(createEventRunByIdRequest(31))).toBe('request=runevent&id=31')
    expect(query(createEventRunByNameRequest('Evening', 'Dim'))).toBe('request=runevent&group=Evening&name=Dim')
    expect(query(createCameraPanRequest(1, 'leftstart'))).toBe('request=pancamera&camid=1&direction=leftstart')
    expect(query(createPluginFunctionRequest({ plugin: 'updater', functionName: 'Go', parameters: ['a b', 2] }))).toBe(
      'request=pluginfunction&plugin=updater&function=Go&P1=a%20b&P2=2',
    )
    expect(createScriptRunRequest('hs.Log("a & b")').http.body?.text).toBe(
      'action=run_script_command&scriptcommand=hs.Log(%22a%20%26%20b%22)',
    )
    expect(createBackupRequest().http).toMatchObject({
      method: 'POST',
      path: '/backup.html',
      body: { text: 'action=backup' },
    })
  })

  it('is always marked as a write, which is not retried', () => {
    const writes = [
      createControlByValueRequest(1, 1),
      createStoredStatusWriteRequest({ ref: 1 }),
      createEventRunByIdRequest(1),
      createScriptRunRequest('x'),
      createBackupRequest(),
    ]
    expect(writes.map((exchange) => exchange.effect)).toEqual(writes.map(() => 'writes'))
  })

  it('succeeds on a device reply or ok', () => {
    expect(answer(createControlByValueRequest(412, 99), '{"Devices":[{"ref":412,"value":35}]}')).toMatchObject({
      ok: true,
      value: { shown: { ref: 412, value: 35 } },
    })
    expect(answer(createControlByValueRequest(412, 99), '{"Response":"ok"}')).toEqual({
      ok: true,
      value: { shown: undefined },
    })
  })

  it('is refused on error and on an empty list of devices', () => {
    expect(answer(createControlByValueRequest(412, 100), 'error\r\n')).toMatchObject({
      fault: { kind: 'refused', reason: 'error' },
    })
    expect(answer(createControlByValueRequest(999, 1), '{"Devices":[]}')).toMatchObject({ fault: { kind: 'refused' } })
  })

  it('decodes a script reply in pairs, also with an odd count', () => {
    expect(answer(createScriptRunRequest('x'), '["response","done","log"]')).toEqual({
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

  it('returns the answer of a plug-in function as text or JSON', () => {
    const call = createPluginFunctionRequest({ plugin: 'p', functionName: 'f', parameters: [] })
    expect(answer(call, 'forty two')).toEqual({ ok: true, value: 'forty two' })
    expect(answer(call, '{"a":1}')).toEqual({ ok: true, value: { a: 1 } })
  })
})

describe('HTTP parameters', () => {
  it('are decoded by URLSearchParams as they were encoded, including a plus', () => {
    const parameters = fc.uniqueArray(fc.tuple(fc.stringMatching(/^[a-z]{1,8}$/), fc.string({ unit: 'grapheme' })), {
      selector: ([name]) => name,
    })
    fc.assert(
      fc.property(parameters, (pairs) => {
        expect([...new URLSearchParams(encodeHttpParameters(pairs))]).toEqual(pairs)
      }),
    )
  })
})
