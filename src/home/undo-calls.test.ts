/** The answers are as HomeSeer's and the regulator's families gave them in the virtual house on 2026-11-18. */
import { describe, expect, it } from 'vitest'
import { deriveUndoCalls } from './undo-calls.ts'

const WRITES = { label: undefined, effect: 'writes' }

describe('the call that undoes a change', () => {
  it('restores a colour by its text, because its value is always zero', () => {
    const result = {
      ref: 176,
      name: 'Mood Light',
      verification: {
        before: { status: '#ff8800', value: 0 },
        expected: { controlUse: 'ColorControl', label: 'Colour', text: 'ff0000' },
        observed: { status: 'ff0000', value: 0 },
      },
    }
    expect(deriveUndoCalls({ ...WRITES, tool: 'hs4.devices.set' }, { arguments: {}, result })).toMatchObject({
      calls: [
        {
          call: { tool: 'hs4.devices.set', arguments: { ref: 176, text: 'ff8800' } },
          handle: 'hs:176',
          leftAt: 'ff0000',
        },
      ],
      unknown: [],
    })
  })

  it('writes the slots of a day in the form of the write tool, not of the read answer', () => {
    const tool = 'ebus.v1.semantic.schedules.set_zone_time_program'
    const body = { zone: 0, weekday: 0, slots: [], idempotency_key: 'once' }
    const before = [
      { start_hour: 6, start_minute: 0, end_hour: 8, end_minute: 30, temperature_c: 21, temperature_raw: 210 },
    ]
    expect(
      deriveUndoCalls({ ...WRITES, tool }, { arguments: body, result: { data: { success: true, before } } }).calls,
    ).toMatchObject([
      {
        call: {
          tool,
          arguments: {
            zone: 0,
            weekday: 0,
            slots: [{ start_hour: 6, start_minute: 0, end_hour: 8, end_minute: 30, temperature_c: 21 }],
          },
        },
      },
    ])
  })
})
