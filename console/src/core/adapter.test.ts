import { describe, expect, it } from 'vitest'
import { adapterFacts } from './adapter.ts'

describe('adapter facts', () => {
  it.each([
    ['supply_voltage_mv', 5_021, 'supply voltage', '5.02 V'],
    ['bus_voltage_max_dv', 193, 'bus voltage max', '19.3 V'],
    ['wifi_rssi_dbm', -58, 'wifi rssi', '-58 dBm'],
    ['temperature_c', 34, 'temperature', '34 °C'],
    ['is_wifi', true, 'wifi', 'yes'],
    ['reset_cause', 'power_on', 'reset cause', 'power on'],
    ['restart_count', 0, 'restart count', '0'],
    ['firmware_version', null, 'firmware version', 'unknown'],
  ])('show %s: %s as a name and a text', (field, value, name, text) => {
    expect(adapterFacts({ [field]: value })).toEqual([{ name, text, atMs: undefined }])
  })

  it('include the time of a timestamp and leave out lists', () => {
    expect(adapterFacts({ last_query: '2026-01-01T00:00:00.000Z', inside: [1] })).toEqual([
      { name: 'last query', text: '2026-01-01T00:00:00.000Z', atMs: Date.UTC(2026, 0, 1) },
    ])
  })
})
