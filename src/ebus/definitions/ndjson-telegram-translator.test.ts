/**
 * Rows of any text: each gets one row back, and nothing is decoded that the row does not say. The good answers are
 * those of the same row in `messages.jsonl` of the oracle's format: 25.0 of a D2C is 9001 in bytes (eBUS data types).
 */
import { describe, expect, it } from 'vitest'
import { MemoryDefinitions } from '../../../test/memory-definitions.ts'
import { NdjsonTelegramTranslator } from './ndjson-telegram-translator.ts'

const FILES = {
  '08.oven.csv':
    '# built-in columns\nr,oven,Temp,,,08,b509,0d01,v,,D2C,,,\nw,oven,Temp,,,08,b509,0e01,v,,D2C,,,\nw,any,Temp,,,,b509,0e02,v,,UCH,,,\n',
}
const rows = new NdjsonTelegramTranslator(new MemoryDefinitions(FILES, 'en'), 'en')
const decode = (line: string): unknown => JSON.parse(rows.answer(line, 'decode'))
const encode = (row: Readonly<Record<string, unknown>>): unknown =>
  JSON.parse(
    rows.answer(JSON.stringify({ file: '08.oven.csv', circuit: 'oven', name: 'Temp', type: 'w', ...row }), 'encode'),
  )

describe('telegram rows as JSON lines', () => {
  it('may begin with a byte order mark', () => {
    expect(decode('\ufeff{"master_hex":"3108b509020d01","slave_hex":"029001"}')).toMatchObject({ text: '25.00' })
  })

  it.each(['{', '[]', 'null', '"x"', '12', '{"a"'])(
    'that are not JSON objects are answered with an error: %s',
    (line) => {
      expect(decode(line)).toEqual({ error: 'not a JSON object' })
    },
  )

  it.each([
    '{}',
    '{"master_hex":12}',
    '{"master_hex":"3108b509020d0"}',
    '{"master_hex":"3108b509020d01 "}',
    '{"master_hex":"3108b509zz"}',
    '{"master_hex":"3108b509020d01","slave_hex":"02900"}',
    '{"master_hex":["3108b509020d01",5]}',
    '{"master_hex":[]}',
  ])('with an invalid master_hex or slave_hex are refused: %s', (line) => {
    expect(decode(line)).toMatchObject({ error: expect.stringMatching(/^master_hex must be/) as unknown })
    expect(decode(line)).not.toHaveProperty('decoded')
  })

  it('that nest too deeply are answered with an error', () => {
    const nested = `${'['.repeat(200_000)}${']'.repeat(200_000)}`
    expect(decode(`{"master_hex":"3108b509020d01","slave_hex":"029001","a":${nested}}`)).toMatchObject({
      error: expect.any(String) as unknown,
    })
  })

  it('accept a number as values, and refuse other types', () => {
    expect(encode({ values: '25' })).toMatchObject({ master_hex: '3108b509040e019001' })
    expect(encode({ values: 25 })).toMatchObject({ master_hex: '3108b509040e019001' })
    for (const values of [null, true, ['25'], { v: 25 }])
      expect(encode({ values })).toMatchObject({ error: 'values must be a text, with ; between several' })
  })

  it('refuse a destination that is not two hexadecimal digits', () => {
    expect(encode({ circuit: 'any', values: '5', dst: '15' })).toMatchObject({ master_hex: '3115b509030e0205' })
    for (const dst of ['8', 'xx', 8, null])
      expect(encode({ circuit: 'any', values: '5', dst })).toMatchObject({
        error: 'dst must be an address of two hexadecimal digits',
      })
  })
})
