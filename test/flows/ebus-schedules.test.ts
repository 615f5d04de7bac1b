/**
 * Weekly programs, written by a real MCP client: seen on the wire, in schedules.get, in the regulator, and in the
 * rooms.
 */
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Envelope, HeatingHouse } from '../heating-house.ts'
import {
  MONDAY,
  NO_REST,
  SET_DHW,
  SET_ZONE,
  call,
  eventually,
  heatingHouse,
  programsRead,
  slot,
} from '../heating-house.ts'

type Slots = readonly { readonly temperature_c?: number }[]

const dayOf = ({ data }: Envelope, hc: string, zone: number, weekday: string): Slots | undefined =>
  data.programs
    .find((program: { hc: string; zone: number }) => program.hc === hc && program.zone === zone)
    ?.days.find((day: { weekday: string }) => day.weekday === weekday)?.slots

describe('a 720 controller', () => {
  let house: HeatingHouse
  let client: Client
  beforeAll(async () => {
    // A minute of the house per second of a bus that is twenty times as fast: an hour in three seconds.
    house = await heatingHouse({ top: NO_REST, house: { speed: 60, startMs: MONDAY } })
    client = await house.client()
    await programsRead(client)
  })
  afterAll(() => house.stop())

  it('stores a day with several slots, and heats by it', async () => {
    const before = await call(client, 'ebus.v1.semantic.zones.get')
    const coldCelsius = before.data[0].state.current_temp_c
    const hours = [0, 6, 12, 18]
    const slots = hours.map((hour) => slot(hour, hour + 6, 26 + hour / 12))
    // Whatever day it is by now in a house that lives so fast.
    const results = []
    for (let weekday = 0; weekday < 7; weekday++)
      results.push(await call(client, SET_ZONE, { zone: 0, weekday, slots }))
    for (const { data, error } of results) {
      expect(error).toBeNull()
      expect(data).toMatchObject({
        success: true,
        slot_results: hours.map((_, index) => ({ slot_index: index, accepted: true, error_code: 0 })),
      })
      expect(data.read_back).toMatchObject(slots)
    }
    const wire = await call(client, 'ebus.v1.bus.messages.list', { limit: 1_024 })
    expect(wire.data.items).toContainEqual(
      expect.objectContaining({
        scope: 'active',
        family: 'B555',
        outcome: 'success',
        request_len: 18,
        target_address: 0x15,
        known: true,
        decoded: {
          name: 'timer.slot',
          act: 'write',
          instance: 0,
          fields: expect.arrayContaining([
            { name: 'program', value: 'heating' },
            { name: 'weekday', value: 'sunday' },
            { name: 'start', value: '18:00' },
            { name: 'end', value: '24:00' },
            { name: 'temperature', value: 27.5, unit: '°C' },
            { name: 'accepted', value: true },
          ]),
        },
      }),
    )
    expect(house.simulator.house().zones[0]?.program[6]).toEqual(
      slots.map(({ start_hour: hour = 0, temperature_c: celsius }) => ({
        startMinute: hour * 60,
        endMinute: (hour + 6) * 60,
        celsius,
      })),
    )
    const shown = await eventually(
      () => call(client, 'ebus.v1.semantic.schedules.get'),
      (envelope) => dayOf(envelope, 'heating', 0, 'sunday')?.length === 4,
    )
    expect(dayOf(shown, 'heating', 0, 'sunday')).toMatchObject(slots)
    const warm = await eventually(
      () => call(client, 'ebus.v1.semantic.zones.get'),
      ({ data }) => data[0].state.current_temp_c > coldCelsius + 1.5,
    )
    expect(warm.data[0].state.current_temp_c).toBeGreaterThan(coldCelsius + 1.5)
    expect(house.simulator.house().zones[0]?.roomCelsius).toBeGreaterThan(coldCelsius + 1.5)
  })

  it('plans a schedule without writing when dryRun is set', async () => {
    const before = house.simulator.house().zones[1]?.program[2]
    const plan = await call(client, SET_ZONE, { zone: 1, weekday: 2, slots: [slot(8, 9, 19)], dryRun: true })
    expect(plan).toMatchObject({
      error: null,
      data: {
        success: true,
        dry_run: true,
        before: [{ start_hour: 5, start_minute: 30 }],
        would_write: [{ start_hour: 8 }],
      },
    })
    expect(house.simulator.house().zones[1]?.program[2]).toEqual(before)
  })

  it('accepts hot water times with or without the setpoint', async () => {
    const times = await call(client, SET_DHW, { weekday: 3, slots: [slot(5, 8.5), slot(17, 21)] })
    expect(times.data).toMatchObject({
      success: true,
      read_back: [{ start_hour: 5, end_minute: 30 }, { start_hour: 17 }],
    })
    expect(house.simulator.house().dhw).toMatchObject({ targetCelsius: 50 })
    const warmer = await call(client, SET_DHW, { weekday: 4, slots: [slot(0, 24, 55)] })
    expect(warmer).toMatchObject({ error: null, data: { success: true } })
    expect(house.simulator.house().dhw).toMatchObject({ targetCelsius: 55 })
    // The one setpoint: wherever else it is shown, it is no longer what it was, and nobody says that it is.
    const water = await call(client, 'ebus.v1.semantic.dhw.get', { detail: true })
    const { fields } = water.meta['freshness'] as { fields: Record<string, { stale: boolean }> }
    expect(water.data.config.target_temp_c === 55 || fields['config.target_temp_c']?.stale).toBe(true)
    // A day takes a telegram per slot, so for a moment one of its slots is new and the other is not.
    const week = await eventually(
      () => call(client, 'ebus.v1.semantic.schedules.get'),
      (envelope) =>
        dayOf(envelope, 'dhw', 255, 'monday')?.every(({ temperature_c: celsius }) => celsius === 55) === true,
    )
    expect(dayOf(week, 'dhw', 255, 'monday')).toMatchObject([{ temperature_c: 55 }, { temperature_c: 55 }])
  })

  it('empties a day, and keeps the hot water setpoint', async () => {
    house.simulator.changeHouse((now) => ({ ...now, dhw: { ...now.dhw, targetCelsius: 60 } }))
    const plan = await call(client, SET_DHW, { weekday: 5, slots: [], dryRun: true })
    expect(plan.data).toMatchObject({ success: true, would_write: [] })
    const empty = await call(client, SET_DHW, { weekday: 5, slots: [] })
    expect(empty).toMatchObject({ error: null, data: { success: true } })
    const { program, targetCelsius } = house.simulator.house().dhw
    expect(program[5]?.filter(({ startMinute, endMinute }) => startMinute < endMinute)).toEqual([])
    expect(targetCelsius).toBe(60)
    const room = await call(client, SET_ZONE, { zone: 1, weekday: 5, slots: [] })
    expect(room).toMatchObject({ error: null, data: { success: true } })
  })

  it('refuses invalid schedules before anything is sent', async () => {
    const wrong: readonly (readonly [string, Record<string, unknown>])[] = [
      [SET_ZONE, { zone: 0, weekday: 0, slots: [slot(8, 7, 21)] }],
      [SET_ZONE, { zone: 0, weekday: 0, slots: [slot(8, 12, 21), slot(11, 13, 21)] }],
      [SET_ZONE, { zone: 0, weekday: 0, slots: [slot(8, 12, 45)] }],
      [SET_ZONE, { zone: 0, weekday: 0, slots: [slot(8, 12)] }],
      [SET_ZONE, { zone: 0, weekday: 7, slots: [] }],
      [SET_DHW, { weekday: 0, slots: [slot(1, 2), slot(3, 4), slot(5, 6), slot(7, 8)] }],
      [SET_DHW, { weekday: 0, slots: [slot(1, 2, 50), slot(3, 4, 55)] }],
      [SET_DHW, { weekday: 0, slots: [slot(1, 2, 30)] }],
    ]
    for (const [name, args] of wrong)
      expect({ args, ...(await call(client, name, args)) }).toMatchObject({ args, error: { code: 'INVALID_ARGUMENT' } })
    expect(await call(client, SET_ZONE, { zone: 2, weekday: 0, slots: [] })).toMatchObject({
      error: { code: 'NOT_FOUND' },
    })
  })

  it('writes a schedule once per idempotency key', async () => {
    const args = { zone: 1, weekday: 6, slots: [slot(9, 20, 20.5)], idempotency_key: 'sunday-1' }
    const first = await call(client, SET_ZONE, args)
    house.simulator.changeHouse((now) => ({
      ...now,
      zones: now.zones.map((zone, index) => (index === 1 ? { ...zone, program: zone.program.with(6, []) } : zone)),
    }))
    const again = await call(client, SET_ZONE, args)
    expect(again.data).toEqual(first.data)
    expect([first.meta['replayed'], again.meta['replayed']]).toEqual([undefined, true])
    expect(house.simulator.house().zones[1]?.program[6]).toEqual([])
  })
})
