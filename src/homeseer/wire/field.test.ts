import { describe, expect, it } from 'vitest'
import { booleanField, numberField, numbersField, objectsField, textField } from './field.ts'

describe('field', () => {
  it('prefers the first name and falls back to the others', () => {
    expect(textField({ Name: 'b', name: 'a' }, 'name', 'Name')).toBe('a')
    expect(textField({ Name: 'b' }, 'name', 'Name')).toBe('b')
  })

  it('reads numbers in quotes, and nothing else, as numbers', () => {
    expect(numberField({ v: '21.5' }, 'v')).toBe(21.5)
    expect(numberField({ v: '' }, 'v')).toBeUndefined()
    expect(numberField({ v: 'None' }, 'v')).toBeUndefined()
    expect(numberField({ v: null }, 'v')).toBeUndefined()
    expect(numberField({ v: '1e999' }, 'v')).toBeUndefined()
  })

  it('reads a list of numbers from an array or from text', () => {
    expect(numbersField({ a: [410, '411', null, 'x'] }, 'a')).toEqual([410, 411])
    expect(numbersField({ a: '410,411' }, 'a')).toEqual([410, 411])
    expect(numbersField({ a: 7 }, 'a')).toEqual([])
  })

  it('leaves out members of a list that are no objects', () => {
    expect(objectsField({ Devices: [{ ref: 1 }, null, 3, [4]] }, 'Devices')).toEqual([{ ref: 1 }])
    expect(objectsField({ Devices: 'none' }, 'Devices')).toBeUndefined()
  })

  it('does not read what every object inherits', () => {
    expect(textField({}, 'constructor', 'toString')).toBeUndefined()
    expect(booleanField({ hide: 'True' }, 'hide')).toBe(true)
  })
})
