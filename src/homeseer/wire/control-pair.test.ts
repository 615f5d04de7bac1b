import { describe, expect, it } from 'vitest'
import type { Json } from '../../core/json.ts'
import { decodeControlsReply, decodeControlPairs, encodeControlPair } from './device.ts'

const OFF = {
  Do_Update: true,
  SingleRangeEntry: true,
  ControlButtonType: 0,
  ControlButtonCustom: '',
  CCIndex: 0,
  Range: null,
  Ref: 412,
  Label: 'Off',
  ControlType: 5,
  ControlLocation: { Row: 1, Column: 1, ColumnSpan: 0 },
  ControlLoc_Row: 1,
  ControlLoc_Column: 1,
  ControlLoc_ColumnSpan: 0,
  ControlUse: 2,
  ControlValue: 0,
  ControlString: '',
  ControlStringList: null,
  ControlStringSelected: null,
  ControlFlag: false,
}
const DIM = {
  ...OFF,
  CCIndex: 1,
  Label: 'Dim (value)%',
  ControlType: 7,
  ControlUse: 3,
  ControlValue: 1,
  Range: {
    RangeStart: 1,
    RangeEnd: 98,
    RangeStatusDecimals: 0,
    RangeStatusValueOffset: 0,
    RangeStatusDivisor: 0,
    ScaleReplace: '',
    HasScale: false,
    RangeStatusPrefix: 'Dim ',
    RangeStatusSuffix: '%',
  },
}
const lamp = { ref: 412, name: 'Hall Lamp', location: 'Hall', location2: 'Ground' }

describe('control pair', () => {
  it('is decoded alike from the reply for one device and for many', () => {
    const one = decodeControlsReply({ ControlPairs: [OFF, DIM], ...lamp })
    const many = decodeControlsReply({ Devices: [{ ...lamp, ControlPairs: [OFF, DIM] }] })
    expect(one).toEqual(many)
    expect(one.ok && one.value.get(412)).toEqual([
      { ref: 412, index: 0, label: 'Off', use: 'Off', type: 5, value: 0, range: undefined, text: '', choices: [] },
      {
        ref: 412,
        index: 1,
        label: 'Dim (value)%',
        use: 'Dim',
        type: 7,
        value: 1,
        range: { start: 1, end: 98, decimals: 0, prefix: 'Dim ', suffix: '%' },
        text: '',
        choices: [],
      },
    ])
  })

  it('is encoded as it was decoded, member for member', () => {
    const [off] = decodeControlPairs({ ref: 412, ControlPairs: [OFF] }) ?? []
    expect(off && JSON.stringify(encodeControlPair(off))).toBe(JSON.stringify(OFF))
  })

  it('distinguishes a device without controls from one with unknown controls', () => {
    expect(decodeControlPairs({ ref: 5, ControlPairs: [] })).toEqual([])
    expect(decodeControlPairs({ ref: 5 })).toBeUndefined()
  })

  it('reads a value that is not a number as undefined, and swaps a reversed range', () => {
    const odd = { ...DIM, ControlValue: 'abc', Range: { RangeStart: 98, RangeEnd: 1, RangeStatusDecimals: 99 } }
    expect(decodeControlPairs({ ref: 1, ControlPairs: [odd] })?.[0]).toMatchObject({
      value: undefined,
      range: { start: 1, end: 98, decimals: 10 },
    })
  })

  it('reads an unknown use as None', () => {
    expect(decodeControlPairs({ ref: 1, ControlPairs: [{ ...OFF, ControlUse: 900 }] })?.[0]?.use).toBe('None')
  })

  it('is refused in a reply without a device', () => {
    for (const value of [null, 'x', [], { ControlPairs: [] }] satisfies Json[])
      expect(decodeControlsReply(value)).toMatchObject({ ok: false, fault: { kind: 'malformed' } })
    expect(decodeControlsReply({ Devices: [] })).toEqual({ ok: true, value: new Map() })
  })
})
