import { describe, expect, it } from 'vitest'
import { hexText, saidText, telegramOf } from './telegram.ts'

const heard = {
  observed_at: '2026-01-03T08:00:00.000Z',
  family: 'B524',
  frame_type: 'initiator_target',
  outcome: 'success',
  source_address: 0x10,
  target_address: 0x15,
  primary: 0xb5,
  secondary: 0x24,
}

describe('display of a telegram', () => {
  it('with a definition shows its values and their units', () => {
    const telegram = telegramOf({
      ...heard,
      known: true,
      decoded: {
        name: 'zone.room_temperature',
        act: 'read',
        instance: 0,
        fields: [{ name: 'value', value: 20.5, unit: '°C' }],
      },
      request_hex: '1015b5240602000300',
    })
    expect([telegram.about, saidText(telegram)]).toEqual(['zone room temperature 1', '20.5 °C'])
    expect([telegram.from, telegram.to, telegram.request]).toEqual(['10', '15', '10 15 b5 24 06 02 00 03 00'])
  })

  it('with several values names each of them, and shows which has none', () => {
    const fields = [
      { name: 'flow', value: 41.5, unit: '°C' },
      { name: 'return', value: null, unit: '°C' },
      { name: 'flame', value: true },
    ]
    const telegram = telegramOf({ ...heard, decoded: { name: 'boiler_status', act: 'read', fields } })
    expect(saidText(telegram)).toBe('flow 41.5 °C, return no value, flame yes')
  })

  it('without a definition shows its service and its bytes', () => {
    const telegram = telegramOf({ ...heard, primary: 0xb5, secondary: 0x13, known: false, request_hex: '1015b513' })
    expect([telegram.known, telegram.about, telegram.request]).toEqual([false, 'service b5 13', '10 15 b5 13'])
  })

  it('without addresses shows placeholders for them', () => {
    expect(telegramOf({ outcome: 'error' })).toMatchObject({ from: '??', to: '??', known: undefined, about: '' })
  })
})

describe('hex text', () => {
  it('is separated into bytes', () => {
    expect(hexText('aa0Bff')).toBe('aa 0B ff')
    expect(hexText('')).toBe('')
  })
})
