import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../core/json.ts'
import { checkDeviceToolArguments, createToolArgumentSchema } from './tool-arguments.ts'

const check = (properties: JsonObject, given: Json | undefined, required: readonly string[] = []) =>
  checkDeviceToolArguments({ name: 'self.test', inputSchema: { type: 'object', properties, required } }, given)

const VOLUME: JsonObject = { volume: { type: 'integer', minimum: 0, maximum: 100 } }

describe('tool arguments', () => {
  it.each([
    [{ volume: 50 }, { volume: 50 }],
    [{ volume: 33.9 }, { volume: 33 }],
    [{ volume: '50' }, { volume: 50 }],
    [{ Volume: 50 }, { volume: 50 }],
    [{ volume: -0.5 }, { volume: 0 }],
  ])('are normalised from %j to %j', (given, sent) => {
    expect(check(VOLUME, given)).toEqual({ ok: true, value: sent })
  })

  it.each([
    [{ volume: 101 }, 'volume must be at most 100, got 101'],
    [{ volume: -1 }, 'volume must be at least 0, got -1'],
    [{ volume: 'loud' }, 'volume must be a whole number'],
    [{ volume: true }, 'volume must be a whole number'],
    [{ volume: 99_999_999_999 }, 'volume must fit 32 bits'],
    [{}, 'volume is required'],
    [undefined, 'volume is required'],
    [null, 'volume is required'],
    [[50], 'arguments must be an object'],
  ])('are refused: %j: %s', (given, problem) => {
    expect(check(VOLUME, given, ['volume'])).toEqual({
      ok: false,
      fault: { kind: 'invalid-arguments', problems: [problem] },
    })
  })

  it('are refused with all problems at once', () => {
    expect(check(VOLUME, { vol: 1, volume: 200 }, ['volume'])).toMatchObject({
      fault: {
        problems: ['vol is not an argument of this tool; it takes volume', 'volume must be at most 100, got 200'],
      },
    })
  })

  it('are refused if one is given in two spellings', () => {
    expect(check(VOLUME, { volume: 1, VOLUME: 2 })).toMatchObject({ fault: { problems: ['volume is given twice'] } })
  })

  it('of type boolean or string are coerced where the device would ignore them', () => {
    const schema = { on: { type: 'boolean' }, name: { type: 'string' } }
    expect(check(schema, { on: 1, name: 7 })).toEqual({ ok: true, value: { on: true, name: '7' } })
    expect(check(schema, { on: 'false' })).toEqual({ ok: true, value: { on: false } })
    expect(check(schema, { on: 2 })).toMatchObject({ fault: { problems: ['on must be true or false'] } })
    expect(check(schema, { name: null })).toMatchObject({ fault: { problems: ['name must be a text'] } })
  })

  it('are limited in length and to enum values as newer firmware does', () => {
    expect(check({ name: { type: 'string', maxLength: 3 } }, { name: 'four' }).ok).toBe(false)
    expect(check({ mode: { type: 'string', enum: ['a', 'b'] } }, { mode: 'c' })).toMatchObject({
      fault: { problems: ['mode must be one of a, b'] },
    })
  })

  it('must be one of the enum values, of any type', () => {
    const properties = { step: { type: 'integer', enum: [15, 30] }, unit: { enum: ['C', 'F'] } }
    const tool = { name: 'self.fan', inputSchema: { type: 'object', properties } }
    expect(checkDeviceToolArguments(tool, { step: '30', unit: 'C' })).toEqual({
      ok: true,
      value: { step: 30, unit: 'C' },
    })
    expect(checkDeviceToolArguments(tool, { step: 20, unit: 'K' })).toMatchObject({
      fault: { problems: ['step must be one of 15, 30', 'unit must be one of C, F'] },
    })
  })

  it('of types that only firmware forks use are checked for their type and passed on', () => {
    const schema = { list: { type: 'array' }, map: { type: 'object' }, ratio: { type: 'number', maximum: 1 }, any: {} }
    expect(check(schema, { list: [1], map: {}, ratio: 0.5, any: null })).toEqual({
      ok: true,
      value: { list: [1], map: {}, ratio: 0.5, any: null },
    })
    expect(check(schema, { list: {}, map: [], ratio: 2 })).toMatchObject({
      fault: { problems: ['list must be a list', 'map must be an object', 'ratio must be at most 1, got 2'] },
    })
  })

  it('of upgrade_firmware need a URL: the default, which is a sentence, is not used', () => {
    const upgrade = {
      name: 'self.upgrade_firmware',
      inputSchema: { type: 'object', properties: { url: { type: 'string', default: 'The URL of the binary' } } },
    }
    expect(checkDeviceToolArguments(upgrade, {})).toMatchObject({ fault: { problems: ['url is required'] } })
  })

  it('of upgrade_firmware are shown with a required URL without default', () => {
    const properties = { url: { type: 'string', default: 'The URL of the firmware' }, note: { type: 'string' } }
    const inputSchema = { type: 'object', properties, required: ['note'] }
    expect(createToolArgumentSchema({ name: 'self.upgrade_firmware', inputSchema })).toEqual({
      type: 'object',
      properties: { url: { type: 'string' }, note: { type: 'string' } },
      required: ['note', 'url'],
    })
    expect(createToolArgumentSchema({ name: 'self.download', inputSchema })).toBe(inputSchema)
  })

  it('are refused beyond 7,168 bytes', () => {
    expect(check({ text: { type: 'string' } }, { text: 'x'.repeat(8_000) })).toMatchObject({
      fault: { problems: ['arguments take 8011 bytes, 7168 allowed'] },
    })
  })

  it('are not matched with inherited property names', () => {
    expect(check({}, JSON.parse('{"__proto__":1,"constructor":2}') as Json)).toMatchObject({
      fault: { problems: [expect.stringContaining('__proto__'), expect.stringContaining('constructor')] },
    })
  })

  it('are sent only as integers within the listed range', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const result = check(VOLUME, { volume: value as Json })
        if (!result.ok) return
        const { volume } = result.value
        expect(Number.isInteger(volume) && Number(volume) >= 0 && Number(volume) <= 100).toBe(true)
      }),
    )
  })

  it('are refused with a NUL at any depth; an escaped backslash-u0000 text is accepted', () => {
    const tool = {
      name: 't',
      inputSchema: { type: 'object', properties: { text: { type: 'string' }, list: { type: 'array' } } },
    }
    for (const given of [{ text: 'a\0b' }, { list: ['a', { '\0': 1 }] }])
      expect(checkDeviceToolArguments(tool, given)).toMatchObject({
        ok: false,
        fault: { problems: [expect.stringContaining('NUL')] },
      })
    expect(checkDeviceToolArguments(tool, { text: '\\u0000' }).ok).toBe(true)
  })
})
