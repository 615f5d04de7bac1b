/** A house with a heat pump in the place of a boiler, read by a real client. */
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { HeatingHouse } from '../heating-house.ts'
import { MONDAY, call, heatingHouse } from '../heating-house.ts'

describe('a heat pump', () => {
  let house: HeatingHouse
  let client: Client
  beforeAll(async () => {
    house = await heatingHouse({ heatSource: 'heat-pump', house: { speed: 0, startMs: MONDAY } })
    client = await house.client()
  })
  afterAll(() => house.stop())

  it('is read on request, with activity, power consumed and power delivered', async () => {
    const { data, error } = await call(client, 'ebus.v1.semantic.heat_pump.get')
    expect(error).toBeNull()
    const { boiler } = house.simulator.house()
    expect(data).toMatchObject({
      device_id: 'HMU00',
      state: {
        activity: expect.stringMatching(/^(ready|heating|hot_water)$/),
        compressor_utilisation_pct: expect.any(Number),
        flow_temperature_c: expect.closeTo(boiler.flowCelsius, 1),
        electric_power_kw: expect.any(Number),
      },
      energy: { unit: 'kWh' },
    })
  })

  it('is listed among other devices, with its control module', async () => {
    await call(client, 'ebus.v1.semantic.snapshot.get', { timeout_ms: 20_000, allow_partial: true })
    const { data } = await call(client, 'ebus.v1.registry.devices.list')
    const products = (data as { address: number; product?: string }[]).map(({ address, product }) => [address, product])
    expect(products).toEqual(
      expect.arrayContaining([
        [0x08, 'heat pump'],
        [0x76, 'heat pump control module'],
      ]),
    )
  })
})
