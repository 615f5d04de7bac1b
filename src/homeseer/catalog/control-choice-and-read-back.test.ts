import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ControlPair } from '../wire/device.ts'
import {
  chooseControlPair,
  createDeviceControlHttpRequest,
  describeControls,
  type DeviceControlRequest,
  computeControlExpectation,
  compareWithExpectation,
} from './control-choice-and-read-back.ts'

const pair = (part: Partial<ControlPair>): ControlPair => ({
  ref: 412,
  index: 0,
  label: '',
  use: 'None',
  type: 5,
  value: undefined,
  range: undefined,
  text: '',
  choices: [],
  ...part,
})

const OFF = pair({ index: 0, label: 'Off', use: 'Off', value: 0 })
const DIM = pair({
  index: 1,
  label: 'Dim (value)%',
  use: 'Dim',
  type: 7,
  value: 1,
  range: { start: 1, end: 98, decimals: 0, prefix: 'Dim ', suffix: '%' },
})
const ON = pair({ index: 2, label: 'On', use: 'On', value: 99 })
const LAST = pair({ index: 3, label: 'On Last Level', use: 'OnAlternate', value: 255 })
const DIMMER = [OFF, DIM, ON, LAST]
const LOCK = [
  pair({ label: 'Unlock', use: 'DoorUnLock', value: 0 }),
  pair({ index: 1, label: 'Lock', use: 'DoorLock', value: 255 }),
]
const SETPOINT = [
  pair({
    label: '(value) C',
    use: 'HeatSetPoint',
    type: 7,
    value: 5,
    range: { start: 5, end: 30, decimals: 1, prefix: '', suffix: ' C' },
  }),
]
const TEXT = [pair({ label: 'Message', type: 10 })]

function chosen(controls: readonly ControlPair[], request: DeviceControlRequest) {
  const choice = chooseControlPair(controls, request)
  if (!choice.ok) throw new Error(choice.fault.kind)
  return choice.value
}

describe('choosing a control pair', () => {
  it('finds a pair by value, label or use', () => {
    expect(chosen(DIMMER, { kind: 'value', value: 99 })).toMatchObject({ pair: ON, value: 99 })
    expect(chosen(DIMMER, { kind: 'value', value: 42 })).toMatchObject({ pair: DIM, value: 42 })
    expect(chosen(DIMMER, { kind: 'label', label: ' on last LEVEL' })).toMatchObject({ pair: LAST, value: 255 })
    expect(chosen(DIMMER, { kind: 'label', label: 'Dim 42%' })).toMatchObject({ pair: DIM, value: 42 })
    expect(chosen(DIMMER, { kind: 'use', use: 'Dim', value: 30 })).toMatchObject({ pair: DIM, value: 30 })
    expect(chosen(LOCK, { kind: 'use', use: 'DoorLock' })).toMatchObject({ value: 255 })
  })

  it('refuses a value out of range, and lists the available controls', () => {
    expect(chooseControlPair(DIMMER, { kind: 'value', value: 100 })).toEqual({
      ok: false,
      fault: {
        kind: 'no-such-value',
        value: 100,
        offers: ['Off (0)', 'Dim (value)% (1 to 98)', 'On (99)', 'On Last Level (255)'],
      },
    })
  })

  it('refuses more decimals than the range has', () => {
    expect(chooseControlPair(DIMMER, { kind: 'value', value: 42.5 })).toMatchObject({
      fault: { kind: 'too-many-decimals', decimals: 0 },
    })
    expect(chooseControlPair(SETPOINT, { kind: 'value', value: 21.5 })).toMatchObject({ ok: true })
    expect(chooseControlPair(SETPOINT, { kind: 'value', value: 21.55 })).toMatchObject({ fault: { decimals: 1 } })
    expect(chooseControlPair(SETPOINT, { kind: 'value', value: 5 + 1e-9 })).toMatchObject({ ok: false })
  })

  it('refuses an unknown label, and a label that two pairs have with different values', () => {
    expect(chooseControlPair(DIMMER, { kind: 'label', label: 'Full' })).toMatchObject({
      fault: { kind: 'no-such-label' },
    })
    const twice = [OFF, pair({ label: 'off', value: 5 })]
    expect(chooseControlPair(twice, { kind: 'label', label: 'Off' })).toMatchObject({
      fault: { kind: 'several-labels' },
    })
  })

  it('needs a value for a use with a range, and lists the uses that exist', () => {
    expect(chooseControlPair(DIMMER, { kind: 'use', use: 'Dim' })).toMatchObject({ fault: { kind: 'value-needed' } })
    expect(chooseControlPair(DIMMER, { kind: 'use', use: 'DoorLock' })).toMatchObject({
      fault: { kind: 'no-such-use', offers: ['Off', 'Dim', 'On', 'OnAlternate'] },
    })
    expect(chooseControlPair(TEXT, { kind: 'use', use: 'None' })).toMatchObject({ fault: { kind: 'no-such-use' } })
  })

  it('sends text to a text control by its index, and to no other control', () => {
    const choice = chosen(TEXT, { kind: 'text', text: 'hello' })
    expect(createDeviceControlHttpRequest(choice).http.query).toContainEqual(['string', 'hello'])
    expect(chooseControlPair(DIMMER, { kind: 'text', text: 'hello' })).toMatchObject({
      fault: { kind: 'no-text-control' },
    })
    expect(chooseControlPair(TEXT, { kind: 'value', value: 0 })).toMatchObject({ fault: { kind: 'no-such-value' } })
    expect(describeControls(TEXT)).toEqual(['Message (text)'])
  })

  it('refuses a device without controls', () => {
    expect(chooseControlPair([], { kind: 'value', value: 1 })).toEqual({ ok: false, fault: { kind: 'no-controls' } })
  })

  it('accepts only values that some pair has', () => {
    fc.assert(
      fc.property(fc.oneof(fc.integer({ min: -300, max: 300 }), fc.double({ noNaN: true })), (value) => {
        const choice = chooseControlPair(DIMMER, { kind: 'value', value })
        const taken = [0, 99, 255].includes(value) || (Number.isInteger(value) && value >= 1 && value <= 98)
        expect(choice.ok).toBe(taken)
      }),
    )
  })
})

describe('verification after a control', () => {
  const seen = (value: number, status = '') => ({ value, status })
  const compare = (
    controls: readonly ControlPair[],
    request: DeviceControlRequest,
    [before, now]: readonly [number, number],
  ) => compareWithExpectation(computeControlExpectation(chosen(controls, request), controls), seen(before), seen(now))

  it('is reached at the value, or within one step for dimmers', () => {
    expect(compare(DIMMER, { kind: 'value', value: 99 }, [0, 99])).toBe('reached')
    expect(compare(DIMMER, { kind: 'value', value: 50 }, [0, 51])).toBe('reached')
    expect(compare(DIMMER, { kind: 'value', value: 99 }, [0, 98])).toBe('moving')
    expect(compare(SETPOINT, { kind: 'value', value: 21.5 }, [20, 22.5])).toBe('moving')
  })

  it('is reached at any value above off after "On Last Level"', () => {
    expect(compare(DIMMER, { kind: 'label', label: 'On Last Level' }, [0, 35])).toBe('reached')
    expect(compare(DIMMER, { kind: 'label', label: 'On Last Level' }, [0, 0])).toBe('elsewhere')
  })

  it('is not reached by a lamp that stays off, however low the requested level', () => {
    expect(compare(DIMMER, { kind: 'value', value: 1 }, [0, 0])).toBe('elsewhere')
    expect(compare(DIMMER, { kind: 'value', value: 1 }, [50, 0])).toBe('elsewhere')
    expect(compare(DIMMER, { kind: 'value', value: 1 }, [0, 1])).toBe('reached')
    const fromZero = [OFF, pair({ ...DIM, range: { start: 0, end: 100, decimals: 0, prefix: '', suffix: '%' } }), LAST]
    expect(compare(fromZero, { kind: 'value', value: 1 }, [0, 0])).toBe('elsewhere')
    expect(compare(fromZero, { kind: 'label', label: 'On Last Level' }, [0, 0])).toBe('elsewhere')
    expect(compare(fromZero, { kind: 'label', label: 'On Last Level' }, [0, 35])).toBe('reached')
  })

  it('is moving while a lock reports its intermediate value', () => {
    expect(compare(LOCK, { kind: 'use', use: 'DoorLock' }, [0, 254])).toBe('moving')
    expect(compare(LOCK, { kind: 'use', use: 'DoorLock' }, [0, 0])).toBe('elsewhere')
    expect(compare(LOCK, { kind: 'use', use: 'DoorLock' }, [0, 255])).toBe('reached')
  })

  it('compares status text only if text was sent', () => {
    const expected = computeControlExpectation(chosen(TEXT, { kind: 'text', text: 'hello' }), TEXT)
    expect(compareWithExpectation(expected, seen(0, ''), seen(0, 'hello'))).toBe('reached')
    const on = computeControlExpectation(chosen(DIMMER, { kind: 'label', label: 'On' }), DIMMER)
    expect(compareWithExpectation(on, seen(0, 'Off'), { value: 0, status: 'On' })).toBe('elsewhere')
  })
})
