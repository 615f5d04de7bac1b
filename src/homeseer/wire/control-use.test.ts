import { describe, expect, it } from 'vitest'
import { controlUseNamed, controlUseNumber, controlUseOf } from './control-use.ts'

describe('control use', () => {
  it('names control uses by their numbers', () => {
    expect(controlUseOf(18)).toBe('DoorLock')
    expect(controlUseNumber('DoorUnLock')).toBe(19)
    expect(controlUseOf(35)).toBe('DecrementValue')
    expect(controlUseNamed('doorlock')).toBe('DoorLock')
    expect(controlUseNamed('explode')).toBeUndefined()
  })
})
