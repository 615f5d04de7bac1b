import { describe, expect, it } from 'vitest'
import { heatingOf, targetArguments } from './heating.ts'

describe('heating', () => {
  it('reads the planes that are there and leaves the others open', () => {
    const planes = {
      zones: [{ id: 'zone-2', name: 'Upstairs', state: { current_temp_c: 19.5 }, config: { target_temp_c: 20 } }],
      boiler_status: { state: { flame_active: false } },
    }
    const heating = heatingOf({ planes, error_planes: [{ plane: 'dhw', code: 'TIMEOUT' }] })
    expect(heating.rooms[0]).toMatchObject({ id: 'zone-2', celsius: 19.5, targetCelsius: 20, humidityPct: undefined })
    expect([heating.boiler.flame, heating.outsideCelsius, heating.missing]).toEqual([false, undefined, ['dhw']])
    expect(heatingOf(null).rooms).toEqual([])
  })

  it('writes a target as the float that the regulator keeps', () => {
    const [room] = heatingOf({ planes: { zones: [{ id: 'zone-2', name: 'Upstairs' }] } }).rooms
    if (room === undefined) throw new Error('there is one')
    expect(targetArguments(room, 21.5, 21)).toMatchObject({
      address: 21,
      method: 'set_ext_register',
      params: { group: 3, instance: 1, addr: 0x22, data: [0x00, 0x00, 0xac, 0x41] },
      intent: 'MUTATE',
    })
  })
})
