/** Somebody who asks at once, before anything was read, gets an answer all the same. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '@modelcontextprotocol/client'
import type { HeatingHouse } from '../heating-house.ts'
import { MONDAY, NO_REST, call, heatingHouse } from '../heating-house.ts'

describe('a gateway that was just started', () => {
  let house: HeatingHouse
  let client: Client
  beforeAll(async () => {
    house = await heatingHouse({ top: NO_REST, house: { speed: 0, startMs: MONDAY } })
    client = await house.client()
  })
  afterAll(() => house.stop())

  it.each(['zones', 'dhw', 'boiler_status', 'schedules', 'radio_devices'])(
    'reads %s when it is asked',
    async (plane) => {
      const answer = await call(client, `ebus.v1.semantic.${plane}.get`)
      expect(answer.error).toBeNull()
      expect(answer.data).not.toBeNull()
    },
  )

  it('has what people ask for first in that answer', async () => {
    const { data } = await call(client, 'ebus.v1.semantic.zones.get')
    const { zones } = house.simulator.house()
    expect(data).toMatchObject(
      zones.map(({ name, roomCelsius, targetCelsius }) => ({
        name,
        state: {
          current_temp_c: expect.closeTo(roomCelsius, 1),
          wanted_now_c: expect.closeTo(targetCelsius, 1),
        },
      })),
    )
  })
})
