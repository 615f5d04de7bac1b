/** Somebody who asks at once, before anything was read, gets an answer all the same. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '@modelcontextprotocol/client'
import type { HeatingHouse } from '../heating-house.ts'
import { MONDAY, call, heatingHouse } from '../heating-house.ts'

describe('a gateway that was just started, on eBUS', () => {
  let house: HeatingHouse
  let client: Client
  beforeAll(async () => {
    house = await heatingHouse({ house: { speed: 0, startMs: MONDAY } })
    client = await house.client()
  })
  afterAll(() => house.stop())

  it.each(['zones', 'dhw', 'boiler_status', 'schedules', 'radio_devices'])('reads %s on request', async (plane) => {
    const answer = await call(client, `ebus.v1.semantic.${plane}.get`)
    expect(answer.error).toBeNull()
    expect(answer.data).not.toBeNull()
  })

  it('answers the first zone request with temperatures and setpoints', async () => {
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

  it('does not count a write with invalid parameters towards the rate limit', async () => {
    // With the rest that a regulator gets between two changes, which this house has.
    const invoke = {
      address: 0x15,
      plane: 'system',
      method: 'set_ext_register',
      intent: 'MUTATE',
      allow_dangerous: true,
    }
    const night = { group: 3, instance: 0, addr: 0x09 }
    const wrong = { ...invoke, params: { ...night, value: 99 }, idempotency_key: 'too warm' }
    expect((await call(client, 'ebus.v1.rpc.invoke', wrong)).error).toMatchObject({ code: 'INVALID_ARGUMENT' })
    const right = { ...invoke, params: { ...night, value: 17 }, idempotency_key: 'as meant' }
    expect(await call(client, 'ebus.v1.rpc.invoke', right)).toMatchObject({
      error: null,
      data: { confirmed: { value: true } },
    })
  })
})
