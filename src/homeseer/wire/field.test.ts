import { describe, expect, it } from 'vitest'
import { recordBoolean, recordNumber, recordNumbers, recordObjects, recordText } from './field.ts'

describe('field', () => {
  it('prefers the first name and falls back to the others', () => {
    expect(recordText({ Name: 'b', name: 'a' }, 'name', 'Name')).toBe('a')
    expect(recordText({ Name: 'b' }, 'name', 'Name')).toBe('b')
  })

  it('reads numbers in quotes, and nothing else, as numbers', () => {
    expect(recordNumber({ v: '21.5' }, 'v')).toBe(21.5)
    expect(recordNumber({ v: '' }, 'v')).toBeUndefined()
    expect(recordNumber({ v: 'None' }, 'v')).toBeUndefined()
    expect(recordNumber({ v: null }, 'v')).toBeUndefined()
    expect(recordNumber({ v: '1e999' }, 'v')).toBeUndefined()
  })

  it('reads a list of numbers from an array or from text', () => {
    expect(recordNumbers({ a: [410, '411', null, 'x'] }, 'a')).toEqual([410, 411])
    expect(recordNumbers({ a: '410,411' }, 'a')).toEqual([410, 411])
    expect(recordNumbers({ a: 7 }, 'a')).toEqual([])
  })

  it('leaves out members of a list that are no objects', () => {
    expect(recordObjects({ Devices: [{ ref: 1 }, null, 3, [4]] }, 'Devices')).toEqual([{ ref: 1 }])
    expect(recordObjects({ Devices: 'none' }, 'Devices')).toBeUndefined()
  })

  it('does not read what every object inherits', () => {
    expect(recordText({}, 'constructor', 'toString')).toBeUndefined()
    expect(recordBoolean({ hide: 'True' }, 'hide')).toBe(true)
  })
})
