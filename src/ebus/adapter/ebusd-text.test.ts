import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { fromHex } from '../../core/bytes.ts'
import { mayTargetHaveActed } from './ebus-connection.ts'
import {
  isAnswerToOtherRequest,
  formatHexCommand,
  parseDirectLine,
  parseGrabLine,
  parseHexAnswer,
  isEbusdSignalAcquired,
} from './ebusd-text.ts'
import { parseAdapterEndpoint } from './adapter-endpoint.ts'

describe('ebusd text', () => {
  it('formats a request with its length, and with its source if one is given', () => {
    const request = { target: 0x15, primary: 0xb5, secondary: 0x24, data: fromHex('020000007300') }
    expect(formatHexCommand(request, undefined)).toBe('hex 15b52406020000007300')
    expect(formatHexCommand(request, 0xff)).toBe('hex -s ff 15b52406020000007300')
  })

  it.each([
    [['0ab543544c563205140704'], 0x15, { ok: true, value: fromHex('b543544c563205140704') }],
    [['00'], 0x15, { ok: true, value: new Uint8Array() }],
    [['ERR: CRC error', '0101'], 0x15, { ok: true, value: fromHex('01') }],
    [['done'], 0x10, { ok: true, value: undefined }],
    [['done broadcast'], 0xfe, { ok: true, value: undefined }],
    [['ERR: read timeout'], 0x15, { ok: false, fault: { kind: 'no-answer' } }],
    [['ERR: no signal'], 0x15, { ok: false, fault: { kind: 'no-signal', phase: 'queued' } }],
    [['ERR: NAK received'], 0x15, { ok: false, fault: { kind: 'refused' } }],
    [['ERR: command not enabled'], 0x15, { ok: false, fault: { kind: 'no-source', state: 'forbidden' } }],
    [['ERR: arbitration lost'], 0x15, { ok: false, fault: { kind: 'ebusd', message: 'ERR: arbitration lost' } }],
    [['0ab5'], 0x15, { ok: false, fault: { kind: 'ebusd', message: '0ab5' } }],
    [[], 0x15, { ok: false, fault: { kind: 'ebusd', message: 'no answer' } }],
  ])('reads the answer %j', (lines, target, result) => {
    expect(parseHexAnswer(lines, { target, repeatable: true })).toEqual(result)
  })

  it('notices an answer that names another register than the question', () => {
    // Seen at a loaded ebusd 26.1: the answer to another initiator's question for 03/000f.
    const requestFor = (data: string): Parameters<typeof isAnswerToOtherRequest>[0] => ({
      target: 0x15,
      primary: 0xb5,
      secondary: 0x24,
      data: fromHex(data),
    })
    const answer = fromHex('01030f006666a241')
    expect(isAnswerToOtherRequest(requestFor('020003000f00'), answer)).toBe(false)
    expect(isAnswerToOtherRequest(requestFor('020000004b00'), answer)).toBe(true)
    expect(isAnswerToOtherRequest(requestFor('020003010400'), new Uint8Array())).toBe(false)
    expect(isAnswerToOtherRequest(requestFor('020103000700'), answer)).toBe(false)
  })

  it.each(['ERR: read timeout', 'ERR: no signal', 'ERR: CRC error', 'ERR: SYN received'])(
    'leaves open whether a change was carried out after %j',
    (line) => {
      const read = parseHexAnswer([line], { target: 0x15, repeatable: false })
      expect(!read.ok && mayTargetHaveActed(read.fault)).toBe(true)
    },
  )

  it('reports that nothing was changed if ebusd refuses to send', () => {
    const read = parseHexAnswer(['ERR: command not enabled'], { target: 0x15, repeatable: false })
    expect(!read.ok && mayTargetHaveActed(read.fault)).toBe(false)
  })

  it('reads NAK as refused', () => {
    expect(parseHexAnswer(['ERR: NAK received'], { target: 0x15, repeatable: false })).toEqual({
      ok: false,
      fault: { kind: 'refused' },
    })
  })

  it('reads telegrams of direct mode and ignores other lines', () => {
    expect(parseDirectLine('1008b5110101 0953363008ff5c0000ff')).toMatchObject({
      telegram: { source: 0x10, target: 0x08, data: Uint8Array.of(1) },
      response: fromHex('53363008ff5c0000ff'),
    })
    expect(parseDirectLine('10feb51603013008')).toMatchObject({ response: undefined })
    for (const line of [
      'direct mode started',
      '15070400:0ab5',
      '1008b51101',
      '15feb51603013008',
      '10feb5160301 00',
      '',
    ])
      expect(parseDirectLine(line)).toBeUndefined()
  })

  it('reads the count of a grab line, with or without a message name', () => {
    expect(parseGrabLine('1008b5110101 / 0953363008ff5c0000ff = 12: bai Status01')).toMatchObject({ count: 12 })
    expect(parseGrabLine('10feb51603013008 = 3')).toMatchObject({ count: 3 })
    expect(parseGrabLine('grab started')).toBeUndefined()
  })

  it('reads from the info output whether ebusd has a signal', () => {
    expect(isEbusdSignalAcquired(['signal acquired, 23 symbols/sec (78 max), 2 masters'])).toBe(true)
    expect(isEbusdSignalAcquired(['ERR: no signal'])).toBe(false)
  })

  it('never throws on any line', () => {
    fc.assert(
      fc.property(fc.string(), (line) => {
        expect(() => [
          parseDirectLine(line),
          parseGrabLine(line),
          parseHexAnswer([line], { target: 0x15, repeatable: true }),
        ]).not.toThrow()
      }),
    )
  })
})

describe('the endpoint of an adapter', () => {
  it.each([
    ['enh:192.168.1.4:9999', { kind: 'enh', host: '192.168.1.4', port: 9_999 }],
    ['ENS:adapter.local:3335', { kind: 'ens', host: 'adapter.local', port: 3_335 }],
    ['tcp:[fe80::1]:3333', { kind: 'tcp', host: 'fe80::1', port: 3_333 }],
    ['udp:h:1', { kind: 'udp', host: 'h', port: 1 }],
    ['ebusd:localhost:8888', { kind: 'ebusd', host: 'localhost', port: 8_888 }],
    // Without a port as ebusd takes them: 9999 of an adapter, 8888 of ebusd (ebusd 26.1, protocol.cpp and main_args.cpp).
    ['ens:192.168.1.182', { kind: 'ens', host: '192.168.1.182', port: 9_999 }],
    ['enh:ebus-adapter.local', { kind: 'enh', host: 'ebus-adapter.local', port: 9_999 }],
    ['tcp:192.168.1.182', { kind: 'tcp', host: '192.168.1.182', port: 9_999 }],
    ['udp:[fe80::1]', { kind: 'udp', host: 'fe80::1', port: 9_999 }],
    ['ebusd:localhost', { kind: 'ebusd', host: 'localhost', port: 8_888 }],
    ['mdns:', { kind: 'mdns', id: undefined, via: undefined }],
    ['mdns:0123456789AB', { kind: 'mdns', id: '0123456789ab', via: undefined }],
    ['mdns:0123456789ab@192.168.1.2', { kind: 'mdns', id: '0123456789ab', via: '192.168.1.2' }],
    ['ens:COM3', { kind: 'ens', path: 'COM3' }],
    ['ens:/dev/ttyUSB0', { kind: 'ens', path: '/dev/ttyUSB0' }],
    ['serial:/dev/ttyAMA0', { kind: 'serial', path: '/dev/ttyAMA0' }],
  ])('is parsed from %s', (text, endpoint) => {
    expect(parseAdapterEndpoint(text)).toEqual({ ok: true, value: endpoint })
  })

  it.each([
    '',
    'enh',
    'enh:',
    'enh:host:0',
    'enh:host:70000',
    'ftp:host:21',
    'udp:/dev/ttyUSB0',
    'tcp:a b:1',
    'mdns:x',
  ])('refuses %j and names the accepted forms', (text) => {
    const parsed = parseAdapterEndpoint(text)
    expect(parsed.ok ? '' : parsed.fault.expected).toContain('enh:host[:port]')
  })
})
