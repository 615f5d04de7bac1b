import { describe, expect, it } from 'vitest'
import { isSpellingOfName, resolveSpelledName } from './tool-name-spelling.ts'

describe('tool name spelling', () => {
  it('matches a name with underscores for all dots', () => {
    expect(isSpellingOfName('hs4.devices.set', 'hs4_devices_set')).toBe(true)
    expect(isSpellingOfName('hs4.devices.set', 'hs4.devices_set')).toBe(false)
    expect(resolveSpelledName('hs4_devices_set', ['hs4.devices.get', 'hs4.devices.set'])).toBe('hs4.devices.set')
  })

  it('resolves to the exact name first, and to nothing if two names have the same spelling', () => {
    expect(resolveSpelledName('a_b', ['a.b', 'a_b'])).toBe('a_b')
    expect(resolveSpelledName('a_b_c', ['a.b_c', 'a_b.c'])).toBeUndefined()
  })
})
