import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { vectorRows } from '../../../test/shared-data.ts'
import { fromHex, toHex } from '../../core/bytes.ts'
import type { CalendarDate, DatatypeValue, TimeOfDay } from './datatype.ts'
import { parseDatatype, requireNumberDatatype } from './datatype-parser.ts'
import { layOutFields } from './field-positions.ts'

/** `decoded` as ebusd prints it: that is how the vectors were written down. */
function printed(spec: string, value: DatatypeValue | undefined): string {
  const [name = '', divisor] = spec.split(',')
  if (value === undefined) return /^(BDA|HDA)/.test(name) ? '-.-.-' : /^[BH]TI$/.test(name) ? '-:-:-' : '-'
  if (typeof value === 'number') return printedNumber(name, divisor === undefined ? 1 : Number(divisor), value)
  // ebusd answers "done" whenever it has nothing to print.
  if (typeof value === 'string') return value === '' ? 'done' : value
  return 'hour' in value ? printedTime(value) : printedDate(value)
}

const two = (value: number | undefined): string => (value === undefined ? '-' : String(value).padStart(2, '0'))
const printedDate = ({ day, month, year }: CalendarDate): string => `${two(day)}.${two(month)}.${year ?? '-'}`
const printedTime = ({ hour, minute, second }: TimeOfDay): string => [hour, minute, second].map(two).join(':')

const OWN_DIVISOR: Record<string, number> = { D1C: 2, D2B: 256, D2C: 16, FLT: 1_000 }

function printedNumber(name: string, divisor: number, value: number): string {
  if (name === 'EXP') return divisor === 1 ? significant(value) : fixed(Math.fround(value), 9)
  const total = (OWN_DIVISOR[name] ?? 1) * divisor
  // As many decimals as the divisor has digits, where ebusd counts 2 as one digit and 10 as one too.
  const decimals = total <= 1 ? 0 : Math.ceil(Math.log10(total))
  return decimals === 0 ? String(value) : fixed(Math.fround(value), decimals)
}

/** In single precision and with ties to even, as a C++ stream prints. */
function fixed(value: number, decimals: number): string {
  const scaled = Math.abs(value) * 10 ** decimals
  const even = scaled % 1 === 0.5 && Math.floor(scaled) % 2 === 0
  const tied = even ? Math.sign(value) * (Math.floor(scaled) / 10 ** decimals) : value
  const text = Math.abs(value) < 1e21 ? tied.toFixed(decimals) : `${BigInt(value)}.${'0'.repeat(decimals)}`
  return Object.is(value, -0) || (value < 0 && Number(text) === 0) ? `-${text.replace('-', '')}` : text
}

/** Six significant digits, as a C++ stream prints a float. */
function significant(value: number): string {
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0'
  const [mantissa = '', exponent = ''] = value.toExponential(5).split('e')
  const power = Number(exponent)
  if (power >= -4 && power < 6) return String(Number(value.toPrecision(6)))
  return `${String(Number(mantissa))}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`
}

/** The value ebusd's text stands for; its `encode` starts from that text, not from the bytes. */
function reread(value: DatatypeValue | undefined, text: string): DatatypeValue | undefined {
  return typeof value === 'number' && /^[-+0-9.e]+$/.test(text) ? Number(text) : value
}

type Row = readonly [spec: string, bytes: string, decoded: string, encoded: string]

/** Rows where we differ from ebusd on purpose. Each must really differ: an excuse nobody needs fails the test. */
const DIFFERENCES: readonly {
  readonly reason: string
  readonly decode?: boolean
  readonly rows: (row: Row) => boolean
}[] = [
  {
    reason: 'an empty text is empty; ebusd reads its own answer "done" as the text',
    rows: ([, , text]) => text === 'done',
  },
  {
    reason: 'ebusd prints a NUL for a control character in NTS; we print a blank, as in STR',
    decode: true,
    rows: ([spec, , text]) => spec === 'NTS:5' && text.includes('\\x00'),
  },
  {
    reason: 'a date with holes has no weekday; ebusd computes one out of the FF in the holes',
    rows: ([spec, , text]) => spec === 'BDA' && /-\.20\d\d$/.test(text),
  },
  {
    reason: 'the largest floats are finite numbers too; ebusd refuses what it cannot print',
    decode: true,
    rows: ([spec, bytes]) => spec.startsWith('EXP') && bytes === '9ec97f7f',
  },
]

describe('data types against a real ebusd', () => {
  /** Types that only definition files name are held against the same vectors in definitions/definitions.test.ts. */
  const rows = (vectorRows('ebus-datatypes') as readonly Row[]).filter(([spec]) => parseDatatype(spec) !== undefined)
  const excuse = (row: Row): (typeof DIFFERENCES)[number] | undefined => DIFFERENCES.find(({ rows }) => rows(row))

  it('have 794 recorded rows', () => {
    expect(rows).toHaveLength(794)
  })

  it('decode to the text that ebusd prints', () => {
    const wrong = rows.filter((row) => excuse(row)?.decode !== true && !decodesAlike(row))
    expect(wrong).toEqual([])
  })

  it('encode to the bytes that ebusd encodes', () => {
    const wrong = rows.filter((row) => row[3] !== '' && excuse(row) === undefined && !encodesAlike(row))
    expect(wrong).toEqual([])
  })

  it.each(DIFFERENCES)('differ on purpose: $reason', ({ decode, rows: match }) => {
    const excused = rows.filter(match)
    expect(excused.length).toBeGreaterThan(0)
    expect(excused.filter(decode === true ? decodesAlike : encodesAlike)).toEqual([])
  })

  function decodesAlike([spec, bytes, text]: Row): boolean {
    const decoded = parseDatatype(spec)?.decode(fromHex(bytes))
    if (decoded === undefined) return false
    if (!decoded.ok) return text.startsWith('ERR') || text === 'empty'
    return printed(spec, decoded.value) === text
  }

  function encodesAlike([spec, bytes, text, encoded]: Row): boolean {
    const type = parseDatatype(spec)
    const decoded = type?.decode(fromHex(bytes))
    if (type === undefined || decoded === undefined || !decoded.ok) return false
    try {
      return toHex(type.encode(reread(decoded.value, text))) === encoded
    } catch (error) {
      return error instanceof RangeError && encoded.startsWith('ERR')
    }
  }
})

describe('eBUS data types', () => {
  it('distinguish a replacement value from invalid and from missing bytes', () => {
    expect(requireNumberDatatype('D2C').decode(fromHex('0080'))).toEqual({ ok: true, value: undefined })
    expect(requireNumberDatatype('D1C').decode(fromHex('c9'))).toEqual({
      ok: false,
      fault: { kind: 'out-of-range', type: 'D1C', bytes: 'c9' },
    })
    expect(requireNumberDatatype('D2C').decode(fromHex('80'))).toEqual({
      ok: false,
      fault: { kind: 'too-short', type: 'D2C', needed: 2, got: 1 },
    })
  })

  it('read bytes at an offset of a larger buffer', () => {
    expect(requireNumberDatatype('EXP').decode(fromHex('ffff 0000ac41').subarray(2))).toEqual({ ok: true, value: 21.5 })
  })

  it('are unknown under any other name or length', () => {
    for (const spec of ['', 'XYZ', 'UCH:2', 'BI7:2', 'BI8', 'STR:0', 'UIN,0', 'BDA:5', 'BTI,10', 'STR:5,10'])
      expect({ spec, known: parseDatatype(spec) !== undefined }).toEqual({ spec, known: false })
    expect(() => requireNumberDatatype('STR')).toThrow(RangeError)
  })

  it('of kind IGN decode to nothing and encode to zeros', () => {
    expect(parseDatatype('IGN:2')?.decode(fromHex('0102'))).toEqual({ ok: true, value: undefined })
    expect(toHex(parseDatatype('IGN:2')?.encode(undefined) ?? new Uint8Array())).toBe('0000')
  })

  const everyType = ['UCH', 'U1L', 'SCH', 'D1C', 'UIN', 'U2L', 'SIN', 'D2B', 'D2C', 'FLT', 'ULG', 'U4L', 'EXP'].concat([
    'BDA',
    'HDA:3',
    'BTI',
    'HTI',
    'UCH,10',
    'D2C,10',
  ])

  it('never throw while decoding, and what they decode encodes to bytes that decode alike', () => {
    fc.assert(
      fc.property(fc.constantFrom(...everyType), fc.uint8Array({ minLength: 4, maxLength: 4 }), (spec, bytes) => {
        const type = parseDatatype(spec)
        if (type === undefined) throw new Error(spec)
        const first = type.decode(bytes)
        // Years beyond 2099 can be read but not written.
        fc.pre(first.ok && !/"year":2[12]/.test(JSON.stringify(first.value) ?? ''))
        expect(type.decode(type.encode(first.ok ? first.value : undefined))).toEqual(first)
      }),
      { numRuns: 5_000 },
    )
  })
})

describe('field offsets of a record', () => {
  const offsets = (...specs: readonly string[]) =>
    layOutFields(
      specs.map((spec) => {
        const type = parseDatatype(spec)
        if (type === undefined) throw new Error(spec)
        return { type }
      }),
    ).map(({ offset }) => offset)

  it('let bit fields share a byte until one starts below the last', () => {
    expect(offsets('UCH', 'BI0', 'BI3:2', 'BI0:3', 'D2C', 'UCH')).toEqual([0, 1, 1, 2, 3, 5])
  })

  it('start a new byte for a bit field at the beginning or behind a whole byte', () => {
    expect(offsets('BI3:2', 'UCH', 'BI7')).toEqual([0, 1, 2])
  })
})
