import { describe, expect, it } from 'vitest'
import { heatingOf, targetArguments } from './heating.ts'
import type { Json } from './json.ts'
import { timesOf } from './times.ts'

describe('heating', () => {
  it('reads the planes that are there and leaves the others open', () => {
    const planes = {
      zones: [{ id: 'zone-2', name: 'Upstairs', state: { current_temp_c: 19.5 }, config: { target_temp_c: 20 } }],
      boiler_status: { state: { flame_active: false } },
    }
    const heating = heatingOf({ planes, error_planes: [{ plane: 'dhw', code: 'TIMEOUT' }] }, () => 0)
    expect(heating.rooms[0]).toMatchObject({ id: 'zone-2', celsius: 19.5, targetCelsius: 20, humidityPct: undefined })
    expect([heating.boiler.flame, heating.outsideCelsius, heating.missing]).toEqual([false, undefined, ['dhw']])
    expect(heatingOf(null, () => 0).rooms).toEqual([])
  })

  it('says of each value when that one was measured', () => {
    const field = (second: number): object => ({ observed_at: `2026-01-05T10:00:0${second}Z` })
    const { fieldAtMs } = timesOf({
      meta: {
        data_timestamp: '2026-01-05T10:00:09Z',
        freshness: {
          ...field(1),
          fields: {
            'zones.zone-1.state.current_temp_c': field(5),
            'system.state.outdoor_temperature': field(6),
            'system.state.system_water_pressure': field(7),
          },
        },
      },
    } as Json)
    const planes = { zones: [{ id: 'zone-1' }], system: { state: { system_water_pressure: 1.5 } } }
    const { rooms, atMs } = heatingOf({ planes }, fieldAtMs)
    const at = (second: number): number => Date.UTC(2026, 0, 5, 10, 0, second)
    expect(rooms.map((room) => room.atMs)).toEqual([at(5)])
    // About the flame nothing is said, so it may be as old as the oldest.
    expect(atMs).toMatchObject({ outside: at(6), pressure: at(7), flame: at(1) })
  })

  it('writes a target as the float that the regulator keeps', () => {
    const [room] = heatingOf({ planes: { zones: [{ id: 'zone-2', name: 'Upstairs' }] } }, () => 0).rooms
    if (room === undefined) throw new Error('there is one')
    expect(targetArguments(room, 21.5, 21)).toMatchObject({
      address: 21,
      method: 'set_ext_register',
      params: { group: 3, instance: 1, addr: 0x22, data: [0x00, 0x00, 0xac, 0x41] },
      intent: 'MUTATE',
    })
  })
})
