import { describe, expect, it } from 'vitest'
import { parseControlUseName, encodeControlUse, decodeControlUse } from './control-use.ts'

describe('control use', () => {
  it('is mapped between number and name', () => {
    expect(decodeControlUse(18)).toBe('DoorLock')
    expect(encodeControlUse('DoorUnLock')).toBe(19)
    expect(decodeControlUse(35)).toBe('DecrementValue')
    expect(parseControlUseName('doorlock')).toBe('DoorLock')
    expect(parseControlUseName('explode')).toBeUndefined()
  })
})
