import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  decodeAsciiCommand,
  decodeAsciiLine,
  encodeAsciiCommand,
  encodeAsciiDeviceChange,
  joinAsciiFields,
  EMPTY_PARTIAL_ASCII_LINE,
  splitAsciiFields,
  splitCompleteAsciiLines,
} from './ascii.ts'

describe('ASCII command', () => {
  it('is encoded as one line', () => {
    expect(encodeAsciiCommand({ kind: 'login', user: 'default', password: 'default' })).toBe('au,default,default\r\n')
    expect(encodeAsciiCommand({ kind: 'control-value', ref: 412, value: 99 })).toBe('cv,412,99\r\n')
    expect(encodeAsciiCommand({ kind: 'version' })).toBe('vr\r\n')
  })

  it('is never encoded as two lines, whatever the password contains', () => {
    expect(() => encodeAsciiCommand({ kind: 'login', user: 'a', password: 'b\r\ncv,1,255' })).toThrow(RangeError)
    expect(encodeAsciiCommand({ kind: 'login', user: 'a,b', password: 'c' })).toBe('au,a\\,b,c\r\n')
  })

  it('is decoded as it was encoded', () => {
    const commands = [
      { kind: 'login', user: 'a,b', password: 'ü' },
      { kind: 'logout' },
      { kind: 'version' },
      { kind: 'control-value', ref: 1, value: -2.5 },
      { kind: 'control-label', ref: 1, label: 'On, please' },
      { kind: 'status', ref: 3 },
      { kind: 'status', ref: undefined },
      { kind: 'controls', ref: 3 },
    ] as const
    for (const command of commands) expect(decodeAsciiCommand(encodeAsciiCommand(command))).toEqual(command)
  })

  it('is decoded in any case, and undefined for unknown text', () => {
    expect(decodeAsciiCommand('CV,412,99')).toEqual({ kind: 'control-value', ref: 412, value: 99 })
    for (const line of ['cv,412', 'cv,x,1', 'cv,1,0x10', 'zz', '']) expect(decodeAsciiCommand(line)).toBeUndefined()
  })
})

describe('ASCII line from HomeSeer', () => {
  it('is decoded as change, ok, error or text', () => {
    expect(decodeAsciiLine('DC,412,99,35')).toEqual({ kind: 'change', ref: 412, value: 99, previous: 35 })
    expect(decodeAsciiLine('DC,412,21.5,')).toEqual({ kind: 'change', ref: 412, value: 21.5, previous: undefined })
    expect(decodeAsciiLine('ok')).toEqual({ kind: 'ok' })
    expect(decodeAsciiLine('error, not authorised')).toEqual({ kind: 'error' })
    expect(decodeAsciiLine('4.2.22.4')).toEqual({ kind: 'text', text: '4.2.22.4' })
    expect(decodeAsciiLine('DC,abc,1,2')).toEqual({ kind: 'text', text: 'DC,abc,1,2' })
    expect(encodeAsciiDeviceChange({ ref: 412, value: 99, previous: 35 })).toBe('DC,412,99,35\r\n')
  })

  it('is not a change if the value is not a finite number', () => {
    expect(decodeAsciiLine('DC,412,1e999,35')).toEqual({ kind: 'text', text: 'DC,412,1e999,35' })
    expect(decodeAsciiLine('DC,412,99,-1e999')).toEqual({ kind: 'change', ref: 412, value: 99, previous: undefined })
  })

  it('keeps escaped commas inside a field', () => {
    expect(joinAsciiFields([412, 'Lamp, tall'])).toBe('412,Lamp\\, tall')
    expect(splitAsciiFields('412,Lamp\\, tall')).toEqual(['412', 'Lamp, tall'])
  })

  it('is complete however the bytes are split', () => {
    const text = 'ok\r\nDC,1,2,3\rDC,4,5,6\n\r\nlast'
    fc.assert(
      fc.property(fc.array(fc.nat(text.length), { maxLength: 6 }), (cuts) => {
        const edges = [0, ...cuts.sort((a, b) => a - b), text.length]
        let rest = EMPTY_PARTIAL_ASCII_LINE
        const seen: string[] = []
        for (let index = 1; index < edges.length; index++) {
          const taken = splitCompleteAsciiLines(rest, text.slice(edges[index - 1], edges[index]))
          seen.push(...taken.lines)
          rest = taken.rest
        }
        expect(seen).toEqual(['ok', 'DC,1,2,3', 'DC,4,5,6'])
        expect(rest).toEqual({ text: 'last', tooLong: false })
      }),
    )
  })

  it('is dropped when it exceeds the limit, and the next one is read', () => {
    const first = splitCompleteAsciiLines(EMPTY_PARTIAL_ASCII_LINE, 'x'.repeat(70_000))
    expect(first).toEqual({ lines: [], rest: { text: '', tooLong: true } })
    const second = splitCompleteAsciiLines(first.rest, 'yyy')
    expect(second.rest).toEqual({ text: '', tooLong: true })
    expect(splitCompleteAsciiLines(second.rest, 'end\r\nok\r\n').lines).toEqual(['ok'])
  })
})
