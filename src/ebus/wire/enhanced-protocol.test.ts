import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { fromHex, toHex } from '../../core/bytes.ts'
import type { AdapterMessage, EnhancedProtocolFault } from './enhanced-protocol.ts'
import {
  encodeAdapterMessage,
  encodeHostMessage,
  newEnhancedParser,
  parseAdapterBytes,
  parseHostBytes,
} from './enhanced-protocol.ts'

function parsed(bytes: string): { messages: AdapterMessage[]; faults: EnhancedProtocolFault[] } {
  const faults: EnhancedProtocolFault[] = []
  const messages = [...parseAdapterBytes(newEnhancedParser(), fromHex(bytes), (fault) => faults.push(fault))]
  return { messages, faults }
}

describe('enhanced protocol', () => {
  it.each([
    ['init', 0x01, 'c081'],
    ['start', 0x31, 'c8b1'],
    ['start', 0xaa, 'caaa'],
    ['send', 0xfe, 'c7be'],
    ['send', 0x5a, 'c59a'],
    ['send', 0x00, 'c480'],
    ['info', 0x00, 'cc80'],
  ] as const)('encodes the host message %s %i as a byte pair', (command, data, bytes) => {
    expect(toHex(encodeHostMessage({ command, data }))).toBe(bytes)
    expect([...parseHostBytes(newEnhancedParser(), fromHex(bytes), () => expect.unreachable())]).toEqual([
      { command, data },
    ])
  })

  it.each([
    ['received', 0xaa, 'c6aa'],
    ['received', 0x15, '15'],
    ['started', 0x31, 'c8b1'],
    ['failed', 0x10, 'e890'],
    ['resetted', 0x01, 'c081'],
    ['error-ebus', 0x00, 'ec80'],
    ['error-host', 0x01, 'f081'],
    ['info', 0xff, 'cfbf'],
  ] as const)('encodes the adapter message %s %i as an adapter does', (event, data, bytes) => {
    expect(toHex(encodeAdapterMessage({ event, data }))).toBe(bytes)
    expect(parsed(bytes)).toEqual({ messages: [{ event, data }], faults: [] })
  })

  it('reads a stream of plain and paired bytes wherever it is split', () => {
    const stream = fromHex('c6aa c8b1 15 07 04 00 c68b 00 0a c6b5')
    const whole = [...parseAdapterBytes(newEnhancedParser(), stream, () => expect.unreachable())]
    for (const cut of stream.keys()) {
      const parser = newEnhancedParser()
      const never = (): never => expect.unreachable()
      const left = [...parseAdapterBytes(parser, stream.subarray(0, cut), never)]
      expect([...left, ...parseAdapterBytes(parser, stream.subarray(cut), never)]).toEqual(whole)
    }
  })

  it('reports a second byte without a first, and continues', () => {
    expect(parsed('aa c6aa')).toEqual({
      messages: [{ event: 'received', data: 0xaa }],
      faults: [{ kind: 'stray-byte', byte: 0xaa }],
    })
  })

  it('drops a first byte whose second is missing, and reads the next byte anew', () => {
    expect(parsed('c6 15 c6 c6aa')).toEqual({
      messages: [
        { event: 'received', data: 0x15 },
        { event: 'received', data: 0xaa },
      ],
      faults: [
        { kind: 'broken-pair', byte: 0x15 },
        { kind: 'broken-pair', byte: 0xc6 },
      ],
    })
  })

  it('reports an unknown command, and continues', () => {
    expect(parsed('d080 00')).toEqual({
      messages: [{ event: 'received', data: 0 }],
      faults: [{ kind: 'unknown-command', code: 4, data: 0 }],
    })
  })

  it('never throws on any bytes, and reads the next valid pair', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (noise) => {
        const parser = newEnhancedParser()
        const after = [noise, fromHex('c6aa')].flatMap((bytes) => [
          ...parseAdapterBytes(parser, bytes, () => undefined),
        ])
        expect(after.at(-1)).toEqual({ event: 'received', data: 0xaa })
      }),
    )
  })
})
