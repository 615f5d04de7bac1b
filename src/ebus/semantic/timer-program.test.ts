import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromHex, toHex } from '../../core/bytes.ts'
import { fail, ok } from '../../core/result.ts'
import type { EbusRequest } from '../adapter/ebus-connection.ts'
import { decodeReadKeyBytes, encodeReadRequest } from './read-key.ts'
import type { TimerSlot } from './timer-program.ts'
import {
  decodeTimerProgramLimits,
  decodeB524Day,
  decodeTimerSlot,
  decodeTimerSlotCounts,
  encodeB524DayWrite,
  encodeTimerSlotWrite,
  isSameDaySchedule,
} from './timer-program.ts'
import type { ProgramDayLocation, RegulatorAccess } from './schedule-writer.ts'
import { writeProgramDay } from './schedule-writer.ts'

const slot = (startHour: number, endHour: number, celsius?: number): TimerSlot => ({
  startMinute: startHour * 60,
  endMinute: endHour * 60,
  celsius,
})

describe('B555 timer program', () => {
  it('decodes answers of real regulators', () => {
    expect(decodeTimerProgramLimits(fromHex('00 0c 0a 05 01 0c 05 1e 00'))).toEqual({
      maxSlots: 12,
      resolutionMinutes: 10,
      minMinutes: 5,
      hasTemperature: true,
      temperatureSlots: 12,
      minCelsius: 5,
      maxCelsius: 30,
    })
    expect(decodeTimerProgramLimits(fromHex('03 00 00 00 00 00 00 00 00'))).toBeUndefined()
    expect(decodeTimerSlotCounts(fromHex('00 01 01 01 01 01 01 01 00'))).toEqual([1, 1, 1, 1, 1, 1, 1])
    expect(decodeTimerSlot(fromHex('00 00 00 18 00 e1 00'))).toEqual({
      startMinute: 0,
      endMinute: 1_440,
      celsius: 22.5,
    })
    expect(decodeTimerSlot(fromHex('00 05 00 09 00 ff ff'))).toEqual({
      startMinute: 300,
      endMinute: 540,
      celsius: undefined,
    })
    expect(decodeTimerSlot(fromHex('03 00 00 00 00 ff ff'))).toBeUndefined()
  })

  it('encodes a slot with its position and the number of slots', () => {
    const at = { weekday: 2, index: 1, count: 3 }
    expect(toHex(encodeTimerSlotWrite({ zone: 1, channel: 'heating' }, at, slot(6, 8, 21.5)))).toBe(
      'a60100020103060008 00d700'.replace(' ', ''),
    )
    expect(toHex(encodeTimerSlotWrite({ zone: 0xff, channel: 'dhw' }, at, slot(5, 24)))).toBe(
      'a6ff02020103050018 00ffff'.replace(' ', ''),
    )
  })

  it('addresses hot water as zone 0 for a slot with temperature, and as zone 255 otherwise', () => {
    const at = { weekday: 0, index: 0, count: 1 }
    expect(encodeTimerSlotWrite({ zone: 0xff, channel: 'dhw' }, at, slot(0, 24, 50))[1]).toBe(0)
    expect(encodeTimerSlotWrite({ zone: 0xff, channel: 'dhw' }, at, slot(0, 24))[1]).toBe(0xff)
  })
})

describe('B524 timer program (opcodes 03 and 04)', () => {
  it('encodes and decodes pairs of ten-minute steps', () => {
    const slots = [slot(6, 9), slot(17, 24)]
    expect(toHex(encodeB524DayWrite([3, 0, 2], 1, slots))).toBe('0403000201243666909090')
    expect(decodeB524Day(fromHex('01 24 36 66 90 90 90'))).toEqual(slots)
    expect(decodeB524Day(fromHex('24 36 66 90 90 90'))).toEqual(slots)
    expect(decodeB524Day(new Uint8Array())).toBeUndefined()
    expect(decodeB524Day(fromHex('01 24 36 66 91 90 90'))).toBeUndefined()
    expect(() => encodeB524DayWrite([3, 0, 2], 1, [{ startMinute: 5, endMinute: 20, celsius: undefined }])).toThrow(
      RangeError,
    )
  })

  it('preserves every slot through encoding and decoding', () => {
    const day = fc
      .uniqueArray(fc.nat(144), { minLength: 0, maxLength: 6 })
      .map((steps) => steps.toSorted((left, right) => left - right))
      .map((steps) =>
        Array.from({ length: Math.floor(steps.length / 2) }, (_, index) => ({
          startMinute: (steps[2 * index] ?? 0) * 10,
          endMinute: (steps[2 * index + 1] ?? 0) * 10,
          celsius: undefined,
        })),
      )
    fc.assert(
      fc.property(day, (slots) => {
        expect(decodeB524Day(encodeB524DayWrite([1, 0, 1], 0, slots).subarray(5))).toEqual(slots)
      }),
    )
  })
})

describe('a day schedule', () => {
  it('is compared without its slots of zero length', () => {
    expect(isSameDaySchedule([slot(6, 8, 21)], [slot(6, 8, 21), slot(0, 0, 5)])).toBe(true)
    expect(isSameDaySchedule([slot(6, 8)], [slot(6, 8, 21)])).toBe(true)
    expect(isSameDaySchedule([slot(6, 8, 21)], [slot(6, 8, 22)])).toBe(false)
    expect(isSameDaySchedule([slot(6, 8, 21)], [slot(6, 8)])).toBe(false)
    expect(isSameDaySchedule([slot(6, 8)], [slot(6, 9)])).toBe(false)
  })
})

const PLACE: ProgramDayLocation = {
  regulator: { address: 0x15, deviceId: 'BASV2', timers: 'b555' },
  id: { zone: 0, channel: 'heating' },
  weekday: 3,
  idleCelsius: 5,
}

/** A regulator at the far end of the telegrams, with the manners of one that was seen. */
function regulator(
  day: TimerSlot[],
  manners: { readonly keepsOnlyFirst?: boolean; readonly loses?: number; readonly refuses?: number } = {},
) {
  const state = { day, writes: 0, spoilt: true }
  const write = ({ data }: EbusRequest): ReturnType<RegulatorAccess['write']> => {
    state.writes++
    if (manners.loses === state.writes) return Promise.resolve(fail({ kind: 'answer-lost' }))
    if (manners.refuses === state.writes) return Promise.resolve(ok(Uint8Array.of(0x06)))
    const [index = 0, count = 0] = data.subarray(4)
    const written = decodeTimerSlot(Uint8Array.of(0, ...data.subarray(6)))
    if (written === undefined) throw new Error('no slot')
    const stored = manners.keepsOnlyFirst === true && state.spoilt && index > 0 ? slot(0, 0, 5) : written
    state.day = Array.from({ length: count }, (_, at) => (at === index ? stored : (state.day[at] ?? slot(0, 0, 5))))
    return Promise.resolve(ok(Uint8Array.of(0)))
  }
  const read: RegulatorAccess['read'] = async (key) => {
    const [operation, , , , index] = decodeReadKeyBytes(key)
    expect(encodeReadRequest(key)).toMatchObject({ target: 0x15, secondary: 0x55 })
    if (operation === 0xa4) return ok(Uint8Array.from([0, 1, 1, 1, state.day.length, 1, 1, 1, 0]))
    const found = state.day[index]
    if (found === undefined) return ok(fromHex('03 00 00 00 00 ff ff'))
    const tenths = found.celsius === undefined ? 0xffff : Math.round(found.celsius * 10)
    const clock = (minutes: number): readonly number[] => [Math.floor(minutes / 60), minutes % 60]
    return ok(Uint8Array.from([0, ...clock(found.startMinute), ...clock(found.endMinute), tenths & 0xff, tenths >> 8]))
  }
  return { state, talk: { read, write, pause: async () => undefined } satisfies RegulatorAccess }
}

describe('writeProgramDay', () => {
  const wanted = [slot(6, 8, 21), slot(12, 13, 20.5), slot(17, 22, 21.5)]

  it('writes every slot with the total count, and reads the day back', async () => {
    const { state, talk } = regulator([slot(7, 9, 20)])
    expect(await writeProgramDay(talk, PLACE, wanted)).toMatchObject({
      ok: true,
      value: {
        kind: 'written',
        before: [slot(7, 9, 20)],
        readBack: wanted,
        results: [{ accepted: true }, { accepted: true }, { accepted: true }],
      },
    })
    expect(state.day).toEqual(wanted)
  })

  it('restores the previous day when the regulator keeps something else', async () => {
    const before = [slot(7, 9, 20)]
    const { state, talk } = regulator([...before], { keepsOnlyFirst: true })
    expect(await writeProgramDay(talk, PLACE, wanted)).toMatchObject({
      ok: true,
      value: { kind: 'unchanged', restored: true, found: [slot(6, 8, 21), slot(0, 0, 5), slot(0, 0, 5)] },
    })
    expect(state.day).toEqual(before)
  })

  it('restores the previous day when a later slot is refused', async () => {
    const before = [slot(7, 9, 20), slot(10, 11, 19)]
    const { state, talk } = regulator([...before], { refuses: 2 })
    expect(await writeProgramDay(talk, PLACE, wanted)).toMatchObject({
      value: { kind: 'unchanged', restored: true, results: [{ accepted: true }, { accepted: false, code: 6 }] },
    })
    expect(state.day).toEqual(before)
  })

  it('leaves the day alone when the first slot is refused', async () => {
    const { state, talk } = regulator([slot(7, 9, 20)], { refuses: 1 })
    expect(await writeProgramDay(talk, PLACE, wanted)).toMatchObject({ value: { kind: 'unchanged', restored: false } })
    expect(state.writes).toBe(1)
  })

  it('reads the day back after a write whose answer was lost', async () => {
    const { state, talk } = regulator([slot(7, 9, 20)], { loses: 3 })
    expect(await writeProgramDay(talk, PLACE, wanted)).toMatchObject({
      value: {
        kind: 'unchanged',
        restored: true,
        results: [{}, {}, { accepted: false, fault: { kind: 'answer-lost' } }],
      },
    })
    expect(state.day).toEqual([slot(7, 9, 20)])
  })

  it('reports an unknown state when the day can neither be written nor restored', async () => {
    const { talk } = regulator([slot(7, 9, 20), slot(10, 12, 19)], { keepsOnlyFirst: true })
    expect(await writeProgramDay(talk, PLACE, wanted)).toMatchObject({ ok: true, value: { kind: 'unknown' } })
  })

  it('writes nothing when it cannot read the current day', async () => {
    const { state, talk } = regulator([])
    const deaf: RegulatorAccess = { ...talk, read: async () => fail({ kind: 'no-answer' }) }
    expect(await writeProgramDay(deaf, PLACE, wanted)).toEqual({ ok: false, fault: { kind: 'no-answer' } })
    expect(state.writes).toBe(0)
  })

  it('writes an empty day as one slot of zero length', async () => {
    const { state, talk } = regulator([slot(7, 9, 20)])
    expect(await writeProgramDay(talk, PLACE, [])).toMatchObject({ value: { kind: 'written' } })
    expect(state.day).toEqual([slot(0, 0, 5)])
  })
})
