/**
 * Weekly programs of a 700 controller, which keeps them in another service than its successors, written by a real
 * client.
 */
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { HeatingHouse } from '../heating-house.ts'
import { MONDAY, NO_REST, SET_ZONE, call, heatingHouse, programsRead, slot } from '../heating-house.ts'

describe('a 700 controller', () => {
  let house: HeatingHouse
  let client: Client
  beforeAll(async () => {
    house = await heatingHouse({ top: NO_REST, regulator: '700', house: { speed: 0, startMs: MONDAY } })
    client = await house.client()
    await programsRead(client)
  })
  afterAll(() => house.stop())

  it('keeps up to three slots a day in ten-minute steps, without temperatures', async () => {
    const written = await call(client, SET_ZONE, {
      zone: 0,
      weekday: 1,
      slots: [slot(6.5, 9), slot(12, 13), slot(17, 23)],
    })
    expect(written).toMatchObject({
      error: null,
      data: { success: true, read_back: [{ start_hour: 6, start_minute: 30 }, { start_hour: 12 }, { end_hour: 23 }] },
    })
    expect(house.simulator.house().zones[0]?.program[1]).toEqual([
      { startMinute: 390, endMinute: 540, celsius: undefined },
      { startMinute: 720, endMinute: 780, celsius: undefined },
      { startMinute: 1_020, endMinute: 1_380, celsius: undefined },
    ])
    const read = await call(client, 'ebus.v1.rpc.invoke', {
      address: 0x15,
      plane: 'system',
      method: 'read_timer',
      params: { source: 113, sel1: 3, sel2: 0, sel3: 2, weekday: 1 },
      intent: 'READ_ONLY',
      allow_dangerous: false,
    })
    expect(read.data).toMatchObject({ value: { value: '012736484e668a', valid: true }, slot_count: { value: 3 } })
  })

  it('refuses a slot with a temperature other than the current setpoint', async () => {
    expect(await call(client, SET_ZONE, { zone: 0, weekday: 1, slots: [slot(6, 9, 23)] })).toMatchObject({
      error: { code: 'INVALID_ARGUMENT', message: expect.stringContaining('now 21') },
    })
    expect(await call(client, SET_ZONE, { zone: 0, weekday: 1, slots: [slot(6, 9, 21)] })).toMatchObject({
      error: null,
    })
    expect(await call(client, SET_ZONE, { zone: 0, weekday: 1, slots: [slot(6.25, 9)] })).toMatchObject({
      error: { code: 'INVALID_ARGUMENT' },
    })
  })
})
