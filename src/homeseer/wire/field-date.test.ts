import { describe, expect, it } from 'vitest'
import { decodeWireDate, encodeWireDate } from './record-field.ts'

describe('wire date', () => {
  it('is decoded from HS4 times, whose zone suffix does not change the instant', () => {
    expect(decodeWireDate('/Date(1613971427719-0500)/')).toBe(1_613_971_427_719)
    expect(decodeWireDate('/Date(1613971427719+0100)/')).toBe(1_613_971_427_719)
  })

  it('is decoded from HS3 times', () => {
    expect(decodeWireDate('/Date(1410193983884)/')).toBe(1_410_193_983_884)
  })

  it('is undefined for the "never" date in any zone and for malformed text', () => {
    expect(decodeWireDate('/Date(-62135596800000)/')).toBeUndefined()
    expect(decodeWireDate('/Date(-62135578800000-0500)/')).toBeUndefined()
    expect(decodeWireDate('2026-01-01T00:00:00')).toBeUndefined()
    expect(decodeWireDate(undefined)).toBeUndefined()
    expect(decodeWireDate('/Date(9999999999999999)/')).toBeUndefined()
  })

  it('is encoded as it was decoded', () => {
    expect(encodeWireDate(1_767_225_600_000, '+0100')).toBe('/Date(1767225600000+0100)/')
    expect(encodeWireDate(undefined)).toBe('/Date(-62135596800000)/')
  })
})
