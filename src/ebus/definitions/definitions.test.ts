/**
 * Definitions against vectors of our own: lines that we wrote, bytes and values that the library of ebusd 26.1
 * (commit 856bb0d5) made of them. Rows: `[circuit name type, master, slave, text | error, JSON]` for what was decoded,
 * `[circuit name type, values, master | error]` for what was encoded.
 */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { listDataTypeNames } from './field-data-type.ts'
import { formatDefinitionFileFault } from './definition-error.ts'
import { DefinitionSet } from './definition-set.ts'
import { NdjsonTelegramTranslator } from './ndjson-telegram-translator.ts'
import { MemoryDefinitions } from '../../../test/memory-definitions.ts'
import { vectorRows } from '../../../test/shared-data.ts'
import { toHex } from '../../core/bytes.ts'
import { encodeDefinedResponse } from './message-encoder.ts'
import type { MessageDefinition } from './message-definition.ts'

interface VectorCase {
  readonly id: string
  readonly main: string
  readonly files: Readonly<Record<string, string>>
  readonly error?: string
  readonly template_error?: string
  readonly vectors: readonly (readonly string[])[]
}

const vectors = new URL('../../../test/vectors/ebus-definitions.jsonl', import.meta.url)
const cases = readFileSync(vectors, 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as VectorCase)

describe('message definitions', () => {
  it('have test vectors for every data type', () => {
    const shown = new Set(cases.map(({ id }) => id.replace(/^type (STR|HEX|NTS):3$/, 'type $1')))
    expect(listDataTypeNames().filter((name) => !shown.has(`type ${name}`))).toEqual([])
  })

  it.each(cases)('agree with ebusd: $id', ({ main, files, error, template_error: templateError, vectors: rows }) => {
    const source = new MemoryDefinitions(files, 'en')
    const fault = new DefinitionSet({ source, mode: 'all', language: 'en' }).load(main)
    expect(fault === undefined ? undefined : formatDefinitionFileFault(fault)).toBe(error)
    expect(source.templateFaults.map(formatDefinitionFileFault)).toEqual(
      templateError === undefined ? [] : [templateError],
    )
    const telegrams = new NdjsonTelegramTranslator(source, 'en')
    for (const [who = '', first = '', ...rest] of rows) {
      const [circuit, name, type] = who.split(' ')
      const isEncode = rest.length === 1
      const row = isEncode ? { values: first } : { master_hex: first, slave_hex: rest[0] }
      const answer = telegrams.answer(
        JSON.stringify({ file: main, circuit, name, type, ...row }),
        isEncode ? 'encode' : 'decode',
      )
      const { master_hex: master, text, error: refusal } = JSON.parse(answer) as Record<string, unknown>
      const shown = isEncode ? (master ?? refusal) : (text ?? refusal)
      const json = /"decoded":(.*)\}$/.exec(answer)?.[1]
      expect([who, first, rest[0], shown, json]).toEqual([who, first, rest[0], rest[isEncode ? 0 : 1], rest[2]])
    }
  })

  /** Facts sheet `ebusd-definitions.md`, sections 5, 9 and 10, and the reasons in ADR 140. */
  describe('depart from ebusd on purpose', () => {
    const files = {
      '08.oven.csv': [
        '# built-in columns',
        'r,oven,Yield,,,08,b509,0d10,heat,,EXP,,kWh,,count,,UCH,,,',
        'w,oven,Counter,,,08,b509,0e11,value,,ULG,,,',
        'w,oven,Code,,,08,b509,0e12,value,,PIN,,,',
        'w,oven,Text,,,08,b509,0e30:5;0e31:5,value,,STR:8,,,',
        'w,oven,Clock,,,08,b509,0e13,value,,BTI,,,',
        'r,oven,Date,,,08,b509,0d14,value,,HDA:3,==01.02.2020,,',
        '',
      ].join('\n'),
    }
    const rows = new NdjsonTelegramTranslator(new MemoryDefinitions(files, 'en'), 'en')
    const encode = (row: Readonly<Record<string, unknown>>): unknown =>
      JSON.parse(rows.answer(JSON.stringify({ file: '08.oven.csv', circuit: 'oven', ...row }), 'encode'))

    it('decode a NaN float as null and keep the other fields', () => {
      const telegram = { kind: 'decode', master_hex: '3108b509020d10', slave_hex: '05ffffffff07' }
      expect(encode({ name: 'Yield', type: 'r', ...telegram })).toMatchObject({
        text: '-;7',
        decoded: { heat: null, count: 7 },
      })
    })

    it('refuse to encode a number out of range', () => {
      for (const values of ['-2', '99999999999'])
        expect(encode({ name: 'Counter', type: 'w', values })).toMatchObject({
          error: 'ERR: argument value out of valid range',
        })
    })

    it('accept a PIN with a leading zero as decimal', () => {
      expect(encode({ name: 'Code', type: 'w', values: '0057' })).toMatchObject({ master_hex: '3108b509040e120057' })
      expect(encode({ name: 'Code', type: 'w', values: '0089' })).toMatchObject({ master_hex: '3108b509040e120089' })
    })

    it('split the value of a chained write into its parts', () => {
      expect(encode({ name: 'Text', type: 'w', values: 'abcdefg' })).toMatchObject({
        master_hex: ['3108b509070e306162636465', '3108b509050e31666720'],
      })
    })

    it('encode a time whose minute is 24', () => {
      expect(encode({ name: 'Clock', type: 'w', values: '12:24:30' })).toMatchObject({
        master_hex: '3108b509050e13302412',
      })
    })

    it('verify a constant that is not a number in JSON, too', () => {
      const telegram = { kind: 'decode', master_hex: '3108b509020d14', slave_hex: '03010214' }
      expect(encode({ name: 'Date', type: 'r', ...telegram })).toMatchObject({ decoded: { value: '01.02.2020' } })
    })
  })
})

/** The same vectors hold the types that our own tables name (wire/datatype-parser.test.ts). */
describe('data types against a real ebusd', () => {
  type Row = readonly [spec: string, bytes: string, decoded: string, encoded: string]
  const rows = vectorRows('ebus-datatypes') as readonly Row[]
  const specs = [...new Set(rows.map(([spec]) => spec))]
  const lines = specs.map((spec, index) => {
    const [type = '', divisor = ''] = spec.split(',')
    return `r,oven,v${index},,,08,b509,0d00,value,,${type},${divisor},,\n`
  })
  const source = new MemoryDefinitions({ '08.oven.csv': `# built-in columns\n${lines.join('')}` }, 'en')
  const set = new DefinitionSet({ source, mode: 'all', language: 'en' })
  set.load('08.oven.csv')
  const messageOf = (spec: string): MessageDefinition => {
    const message = set.messages.find(({ name }) => name === `v${specs.indexOf(spec)}`)
    if (message === undefined) throw new Error(spec)
    return message
  }
  const telegrams = new NdjsonTelegramTranslator(source, 'en')

  it('have 1,933 recorded rows', () => {
    expect(rows).toHaveLength(1_933)
  })

  it('decode to the text that ebusd prints', () => {
    const read = ([spec, bytes]: Row): unknown => {
      const header = { file: '08.oven.csv', circuit: 'oven', name: messageOf(spec).name, type: 'r' }
      const slave = `${(bytes.length / 2).toString(16).padStart(2, '0')}${bytes}`
      const answer = telegrams.answer(
        JSON.stringify({ ...header, master_hex: '3108b509020d00', slave_hex: slave }),
        'decode',
      )
      const { text, error } = JSON.parse(answer) as { readonly text?: string; readonly error?: string }
      return text ?? error
    }
    // A float that is no number is a value that is missing; a text is shown without the words and escapes of a terminal.
    const shown = (text: string): string =>
      text === 'empty' ? '-' : text === 'done' ? '' : text.replaceAll('\\x00', '\0')
    expect(rows.map((row) => [row[0], row[1], read(row)])).toEqual(
      rows.map(([spec, bytes, text]) => [spec, bytes, shown(text)]),
    )
  })

  it('encode to the bytes that ebusd encodes', () => {
    // A leading zero is decimal here, and a date with a stray `-.` in front is none; `done` and `empty` are no texts.
    const tried = rows.filter(
      ([spec, , text, encoded]) =>
        encoded !== '' &&
        text !== 'done' &&
        text !== 'empty' &&
        !(spec === 'PIN' && /^0\d/.test(text)) &&
        !(spec === 'DAY' && text.startsWith('-.1')),
    )
    const written = ([spec, , text]: Row): string => {
      const bytes = encodeDefinedResponse(messageOf(spec), text)
      return bytes.ok ? toHex(bytes.value) : 'ERR'
    }
    expect(tried.map((row) => [row[0], row[2], written(row)])).toEqual(
      tried.map(([spec, , text, encoded]) => [spec, text, encoded.startsWith('ERR') ? 'ERR' : encoded]),
    )
  })
})
