import { describe, expect, it } from 'vitest'
import {
  readRecordBoolean,
  readRecordNumber,
  readRecordNumbers,
  readRecordObjects,
  readRecordText,
} from './record-field.ts'

describe('field', () => {
  it('prefers the first name and falls back to the others', () => {
    expect(readRecordText({ Name: 'b', name: 'a' }, 'name', 'Name')).toBe('a')
    expect(readRecordText({ Name: 'b' }, 'name', 'Name')).toBe('b')
  })

  it('reads numbers in quotes, and nothing else, as numbers', () => {
    expect(readRecordNumber({ v: '21.5' }, 'v')).toBe(21.5)
    expect(readRecordNumber({ v: '' }, 'v')).toBeUndefined()
    expect(readRecordNumber({ v: 'None' }, 'v')).toBeUndefined()
    expect(readRecordNumber({ v: null }, 'v')).toBeUndefined()
    expect(readRecordNumber({ v: '1e999' }, 'v')).toBeUndefined()
  })

  it('reads a list of numbers from an array or from text', () => {
    expect(readRecordNumbers({ a: [410, '411', null, 'x'] }, 'a')).toEqual([410, 411])
    expect(readRecordNumbers({ a: '410,411' }, 'a')).toEqual([410, 411])
    expect(readRecordNumbers({ a: 7 }, 'a')).toEqual([])
  })

  it('leaves out members of a list that are no objects', () => {
    expect(readRecordObjects({ Devices: [{ ref: 1 }, null, 3, [4]] }, 'Devices')).toEqual([{ ref: 1 }])
    expect(readRecordObjects({ Devices: 'none' }, 'Devices')).toBeUndefined()
  })

  it('does not read what every object inherits', () => {
    expect(readRecordText({}, 'constructor', 'toString')).toBeUndefined()
    expect(readRecordBoolean({ hide: 'True' }, 'hide')).toBe(true)
  })
})
