import { describe, expect, it } from 'vitest'
import { dayFlaw, programOf, readTime, timeText, writeArguments, writerOf } from './schedule.ts'

const slot = (startMinute: number, endMinute: number, celsius?: number) => ({ startMinute, endMinute, celsius })
const PROGRAM = programOf({
  zone: 1,
  hc: 'heating',
  config: { max_slots: 2, temp_slots: 2 },
  days: [
    {
      weekday: 'tuesday',
      slots: [{ start_hour: 6, start_minute: 30, end_hour: 24, end_minute: 0, temperature_c: 21.5 }],
    },
  ],
})

describe('heating schedule', () => {
  it('parses a program and leaves days that were not read undefined', () => {
    expect(PROGRAM.days[1]).toEqual([slot(390, 1_440, 21.5)])
    expect(PROGRAM.days[0]).toBeUndefined()
    expect(writerOf(PROGRAM)).toBe('ebus.v1.semantic.schedules.set_zone_time_program')
    expect(writerOf(programOf({ zone: 255, hc: 'dhw' }))).toBe('ebus.v1.semantic.schedules.set_dhw_time_program')
    expect(programOf({ zone: 255, hc: 'circulation' }).editable).toBe(false)
  })

  it('sends the slots of a day sorted, with 24:00 as the end', () => {
    expect(writeArguments(PROGRAM, 1, [slot(960, 1_440, 20), slot(390, 480, 21)])).toEqual({
      zone: 1,
      weekday: 1,
      slots: [
        { start_hour: 6, start_minute: 30, end_hour: 8, end_minute: 0, temperature_c: 21 },
        { start_hour: 16, start_minute: 0, end_hour: 24, end_minute: 0, temperature_c: 20 },
      ],
    })
  })

  it('reports slots that a regulator would refuse', () => {
    expect(dayFlaw([slot(0, 60, 20), slot(60, 120, 20)], PROGRAM)).toBeUndefined()
    expect(dayFlaw([slot(60, 60, 20)], PROGRAM)).toContain('begins after it ends')
    expect(dayFlaw([slot(0, 61, 20), slot(60, 120, 20)], PROGRAM)).toContain('before the one before it ends')
    expect(dayFlaw([slot(0, 60)], PROGRAM)).toContain('no temperature')
    expect(dayFlaw([slot(0, 1, 20), slot(2, 3, 20), slot(4, 5, 20)], PROGRAM)).toContain('2 times')
  })

  it('parses times of day and refuses invalid ones', () => {
    expect([readTime('6:30'), readTime('24:00'), readTime('24:01'), readTime('12:60'), readTime('noon')]).toEqual([
      390,
      1_440,
      undefined,
      undefined,
      undefined,
    ])
    expect(timeText(390)).toBe('06:30')
  })
})
