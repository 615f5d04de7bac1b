import { describe, expect, it } from 'vitest'
import { isMeant, meantBy } from './spelling.ts'

describe('spelling', () => {
  it('knows a name with underscores for dots', () => {
    expect(isMeant('hs4.devices.set', 'hs4_devices_set')).toBe(true)
    expect(isMeant('hs4.devices.set', 'hs4.devices_set')).toBe(false)
    expect(meantBy('hs4_devices_set', ['hs4.devices.get', 'hs4.devices.set'])).toBe('hs4.devices.set')
  })

  it('means the name itself before another that is spelt so, and nothing where two are', () => {
    expect(meantBy('a_b', ['a.b', 'a_b'])).toBe('a_b')
    expect(meantBy('a_b_c', ['a.b_c', 'a_b.c'])).toBeUndefined()
  })
})
