import { describe, expect, it } from 'vitest'
import {
  readRecordBoolean,
  readRecordNumber,
  readRecordNumbers,
  readRecordObjects,
  readRecordText,
} from './record-field.ts'

describe('field of a HomeSeer record', () => {
  it('is read under its first name, or under the others', () => {
    expect(readRecordText({ Name: 'b', name: 'a' }, 'name', 'Name')).toBe('a')
    expect(readRecordText({ Name: 'b' }, 'name', 'Name')).toBe('b')
  })

  it('is read as a number also in quotes, and otherwise undefined', () => {
    expect(readRecordNumber({ v: '21.5' }, 'v')).toBe(21.5)
    expect(readRecordNumber({ v: '' }, 'v')).toBeUndefined()
    expect(readRecordNumber({ v: 'None' }, 'v')).toBeUndefined()
    expect(readRecordNumber({ v: null }, 'v')).toBeUndefined()
    expect(readRecordNumber({ v: '1e999' }, 'v')).toBeUndefined()
  })

  it('is read as a list of numbers from an array or from text', () => {
    expect(readRecordNumbers({ a: [410, '411', null, 'x'] }, 'a')).toEqual([410, 411])
    expect(readRecordNumbers({ a: '410,411' }, 'a')).toEqual([410, 411])
    expect(readRecordNumbers({ a: 7 }, 'a')).toEqual([])
  })

  it('is read as a list of objects, without other members', () => {
    expect(readRecordObjects({ Devices: [{ ref: 1 }, null, 3, [4]] }, 'Devices')).toEqual([{ ref: 1 }])
    expect(readRecordObjects({ Devices: 'none' }, 'Devices')).toBeUndefined()
  })

  it('is not read from inherited properties', () => {
    expect(readRecordText({}, 'constructor', 'toString')).toBeUndefined()
    expect(readRecordBoolean({ hide: 'True' }, 'hide')).toBe(true)
  })
})
