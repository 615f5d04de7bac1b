import { afterEach, describe, expect, it, vi } from 'vitest'
import { heatingOf, targetArguments, targetSetting } from './heating.ts'
import type { Json } from './json.ts'
import { timesOf } from './times.ts'

afterEach(() => vi.unstubAllGlobals())

describe('heating overview', () => {
  it('reads the planes that are present and lists the missing ones', () => {
    const planes = {
      zones: [{ id: 'zone-2', name: 'Upstairs', state: { current_temp_c: 19.5 }, config: { target_temp_c: 20 } }],
      boiler_status: { state: { flame_active: false } },
    }
    const heating = heatingOf({ planes, error_planes: [{ plane: 'dhw', code: 'TIMEOUT' }] }, () => 0)
    expect(heating.rooms[0]).toMatchObject({ id: 'zone-2', celsius: 19.5, targetCelsius: 20, humidityPct: undefined })
    expect([heating.boiler.flame, heating.outsideCelsius, heating.missing]).toEqual([false, undefined, ['dhw']])
    expect(heatingOf(null, () => 0).rooms).toEqual([])
  })

  it('gives the time of measurement for each value', () => {
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

  describe('target temperature of a room', () => {
    const [room] = heatingOf({ planes: { zones: [{ id: 'zone-2', name: 'Upstairs' }] } }, () => 0).rooms
    if (room === undefined) throw new Error('there is one')
    const setting = (path: string, minimum: number): Json => ({
      name: 'zone.day_setpoint',
      minimum,
      maximum: 30,
      read_back: { tool: 'ebus.v1.semantic.zones.get', path },
      example: {
        tool: 'ebus.v1.settings.set',
        arguments: { setting: 'room_temperature', zone: 'Upstairs', value: 20 },
      },
    })

    it('is set with the limits and the arguments of the setting for that room', () => {
      const settings = [setting('zone-1.config.target_temp_c', 5), setting('zone-2.config.target_temp_c', 15)]
      const found = targetSetting(room, [{ name: 'get_ext_register' }, { name: 'set_ext_register', settings }])
      expect(found).toMatchObject({ minimum: 15, maximum: 30 })
      if (found === undefined) throw new Error('there is one')
      const sent = targetArguments(found, 21.5)
      expect(sent).toMatchObject({ setting: 'room_temperature', zone: 'Upstairs', value: 21.5 })
      expect(sent['idempotency_key']).not.toBe(targetArguments(found, 21.5)['idempotency_key'])
    })

    it('can be set in a browser without crypto.randomUUID, as on a page over plain HTTP', () => {
      vi.stubGlobal('crypto', { getRandomValues: crypto.getRandomValues.bind(crypto) })
      const sent = targetArguments({ minimum: 15, maximum: 30, call: {} }, 21.5)
      expect(sent['idempotency_key']).toMatch(/^console-[0-9a-f]{32}$/)
    })

    it('cannot be set if the bus offers no setting for the room', () => {
      const elsewhere = [{ name: 'set_ext_register', settings: [setting('zone-1.config.target_temp_c', 5)] }]
      expect([targetSetting(room, elsewhere), targetSetting(room, null)]).toEqual([undefined, undefined])
    })
  })
})
