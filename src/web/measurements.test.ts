import { describe, expect, it } from 'vitest'
import type { Json } from '../core/json.ts'
import { MEASUREMENT_CALLS } from './measurements.ts'

const probe = (tool: string, data: Json) => MEASUREMENT_CALLS.find((known) => known.tool === tool)?.measurements(data)

describe('measurements', () => {
  it('reads rooms, hot water, boiler and weather from a live eBUS snapshot', () => {
    const planes = {
      zones: [
        { id: 'zone-1', state: { current_temp_c: 20.5, current_humidity_pct: 44 }, config: { target_temp_c: 21 } },
        { id: 'zone-2', state: {}, config: {} },
      ],
      dhw: { state: { current_temp_c: 48 } },
      boiler_status: { state: { flame_active: true, flow_temperature_c: 52.5 } },
      system: { state: { outdoor_temperature: -3.25 } },
    }
    expect(probe('ebus.v1.semantic.snapshot.get', { data: { planes }, consistency: { mode: 'LIVE' } })).toEqual([
      { id: 'ebus/zone-1/current_temp_c', value: 20.5 },
      { id: 'ebus/zone-1/target_temp_c', value: 21 },
      { id: 'ebus/zone-1/current_humidity_pct', value: 44 },
      { id: 'ebus/boiler/flow_temperature_c', value: 52.5 },
      { id: 'ebus/boiler/flame_active', value: 1 },
      { id: 'ebus/dhw/current_temp_c', value: 48 },
      { id: 'ebus/outside/temperature_c', value: -3.25 },
    ])
    expect(probe('ebus.v1.semantic.snapshot.get', { data: { planes }, consistency: { mode: 'SNAPSHOT' } })).toEqual([])
  })

  it('reads only the temperatures from a list of devices', () => {
    const items = [
      { ref: 7, value: 99, capabilities: ['on_off', 'dimmer'] },
      { ref: 8, value: 19, capabilities: ['temperature', 'sensor'] },
    ]
    expect(probe('hs4.devices.list', { items })).toEqual([{ id: 'homeseer/8', value: 19 }])
  })

  it('skips values that are missing or not numbers', () => {
    const live = { consistency: { mode: 'LIVE' } }
    expect(probe('ebus.v1.semantic.snapshot.get', { ...live, data: { planes: { zones: null, dhw: 'x' } } })).toEqual([])
    expect(probe('ebus.v1.semantic.snapshot.get', { ...live, data: null })).toEqual([])
    expect(
      probe('hs4.devices.list', { items: [{ ref: 7, value: '20', capabilities: ['temperature'] }, null] }),
    ).toEqual([])
  })
})
