/**
 * Ways around a device that is guarded: before anybody has read that it is a lock, through an event that sets it, and
 * by switching off the event that guards it.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/core/json.ts'
import {
  GARAGE_CONTROLS,
  LOCK_CONTROLS,
  createSimulatedHomeseerDevice,
} from '../../src/sim/homeseer/simulated-homeseer-device.ts'
import { ADMIN_CLAIMS, ADMIN_OPEN, APPROVER, CLAIMS, openHouse, openWorld } from '../homeseer-rig.ts'
import type { World } from '../homeseer-rig.ts'

let world: World

beforeAll(async () => {
  world = await openWorld()
})

afterAll(() => world.close())

/** A garage door and a lock that get their controls only after they have been looked at. */
const GATE = { ref: 300, name: 'Garage Door Two', location: 'Garage' }
const ENTRY = { ref: 301, name: 'Entry', location: 'Hall', value: 255 }
const ASKS = { error: { code: 'POLICY_DENY', details: { approval_id: expect.any(String) } } }

describe('a guarded device', () => {
  it('needs an approval as soon as it becomes controllable', async () => {
    const { house: simulated } = world.simulator
    for (const device of [GATE, ENTRY]) simulated.add(createSimulatedHomeseerDevice({ ...device, pairs: [] }))
    await using house = await openHouse(world)
    await house.call('hs4.devices.list', {})
    simulated.add(createSimulatedHomeseerDevice({ ...GATE, pairs: GARAGE_CONTROLS }))
    simulated.add(createSimulatedHomeseerDevice({ ...ENTRY, pairs: LOCK_CONTROLS }))
    const before = [simulated.hardware(GATE.ref), simulated.hardware(ENTRY.ref)]
    const opened = await house.call('hs4.devices.set', { ref: GATE.ref, value: 100, ...CLAIMS })
    expect(opened).toMatchObject(ASKS)
    expect(await house.call('hs4.devices.set', { ref: ENTRY.ref, controlUse: 'DoorUnLock', ...CLAIMS })).toMatchObject(
      ASKS,
    )
    expect([simulated.hardware(GATE.ref), simulated.hardware(ENTRY.ref)]).toEqual(before)
  })

  it('keeps its owner rule when an event would set it', async () => {
    const rules = (says: string) => ({ config: { guard: { rules: [{ target: 'homeseer:ref:131', says }] } } })
    await using forbidding = await openHouse(world, rules('forbid'))
    const refused = await forbidding.call('hs4.events.run', { id: 31, ...CLAIMS })
    expect(refused).toMatchObject({ error: { code: 'POLICY_DENY' } })
    expect(JSON.stringify(refused)).toContain('The owner has forbidden this.')
    await using asking = await openHouse(world, rules('ask'))
    expect(await asking.call('hs4.events.run', { id: 31, ...CLAIMS })).toMatchObject(ASKS)
    const [question] = asking.gateway.guard.approvals.list({ state: 'requested' })
    await asking.gateway.guard.approvals.approve(question?.id ?? '', APPROVER)
    expect(await asking.call('hs4.events.run', { id: 31, ...CLAIMS })).toMatchObject({ result: { invoked: true } })
  })

  it('is not set by an event with an unreadable action, whether the event is listed or not', async () => {
    const path = world.simulator.eventFiles?.events ?? ''
    const kept = readFileSync(path, 'utf8')
    const events = JSON.parse(kept) as { evRef: number; ConditionalActions: { mvarActions: JsonObject }[] }[]
    const movie = events.find(({ evRef }) => evRef === 32)?.ConditionalActions[0]
    if (movie === undefined) throw new Error('the house has no event 32')
    movie.mvarActions = { ...movie.mvarActions, K9: { $type: 'Scheduler.Classes.EvACT_EVENT, Scheduler', evRef: 35 } }
    writeFileSync(path, JSON.stringify(events))
    try {
      await using house = await openHouse(world)
      expect(await house.call('hs4.events.run', { id: 32, ...CLAIMS })).toMatchObject(ASKS)
      await using listed = await openHouse(world, { homeseer: { allow: { events: [32, 35] } } })
      expect(await listed.call('hs4.events.run', { id: 32, ...CLAIMS })).toMatchObject(ASKS)
    } finally {
      writeFileSync(path, kept)
    }
  })

  it('is not set by an event behind twenty devices without known controls', async () => {
    const { house: simulated, eventFiles } = world.simulator
    const refs = Array.from({ length: 21 }, (_, index) => 400 + index)
    for (const ref of refs)
      simulated.add(createSimulatedHomeseerDevice({ ref, name: `Thing ${ref}`, location: 'Hall', pairs: [] }))
    const path = eventFiles?.events ?? ''
    const kept = readFileSync(path, 'utf8')
    const events = JSON.parse(kept) as { evRef: number; ConditionalActions: JsonObject[] }[]
    const sets = { devices: Object.fromEntries(refs.map((ref) => [`K${ref}`, {}])) }
    writeFileSync(
      path,
      JSON.stringify(
        events.map((event) =>
          event.evRef === 32 ? { ...event, ConditionalActions: [{ mvarActions: { K0: sets } }] } : event,
        ),
      ),
    )
    try {
      await using house = await openHouse(world)
      await house.call('hs4.devices.list', {})
      simulated.add(
        createSimulatedHomeseerDevice({
          ref: 420,
          name: 'Thing 420',
          location: 'Hall',
          value: 255,
          pairs: LOCK_CONTROLS,
        }),
      )
      expect(await house.call('hs4.events.run', { id: 32, ...CLAIMS })).toMatchObject(ASKS)
    } finally {
      writeFileSync(path, kept)
    }
  })

  it('is not set by an event whose definition is missing or unreadable', async () => {
    const path = world.simulator.eventFiles?.events ?? ''
    const kept = readFileSync(path, 'utf8')
    const run = { id: 32, ...CLAIMS }
    const others = (JSON.parse(kept) as readonly { evRef: number }[]).filter(({ evRef }) => evRef !== run.id)
    try {
      await using house = await openHouse(world)
      expect(await house.call('hs4.events.run', run)).toMatchObject({ result: { invoked: true } })
      writeFileSync(path, JSON.stringify(others))
      expect(await house.call('hs4.events.run', run)).toMatchObject(ASKS)
      writeFileSync(path, kept.slice(0, -20))
      expect(await house.call('hs4.events.run', run)).toMatchObject(ASKS)
      rmSync(path)
      expect(await house.call('hs4.events.run', run)).toMatchObject(ASKS)
      // Nor where nobody could ever read them.
      await using elsewhere = await openHouse(world)
      expect(await elsewhere.call('hs4.events.run', run)).toMatchObject(ASKS)
    } finally {
      writeFileSync(path, kept)
    }
  })

  it('is not set by an event that runs another one without a definition', async () => {
    const path = world.simulator.eventFiles?.events ?? ''
    const kept = readFileSync(path, 'utf8')
    const events = JSON.parse(kept) as (JsonObject & { evRef: number })[]
    const run = { id: 32, ...CLAIMS }
    try {
      await using house = await openHouse(world)
      for (const files of [
        events.filter(({ evRef }) => evRef !== 35),
        events.map((event) => (event.evRef === 35 ? { Name: event['Name'] ?? null } : event)),
        [...events, events.find(({ evRef }) => evRef === 35)],
        { Events: events, Archived: events },
        // Edited since the copy was made.
        events.map((event) => (event.evRef === 32 ? { ...event, Name: 'Another Name' } : event)),
      ]) {
        writeFileSync(path, JSON.stringify(files))
        expect(await house.call('hs4.events.run', run)).toMatchObject(ASKS)
      }
    } finally {
      writeFileSync(path, kept)
    }
  })

  it('cannot lose the event that guards it without an approval', async () => {
    await using house = await openHouse(world, { homeseer: { admin: { ...ADMIN_OPEN } } })
    const off = { eventId: 35, definition: { enabled: false }, ...ADMIN_CLAIMS }
    expect(await house.call('hs4.admin.events.update', off)).toMatchObject(ASKS)
    expect(await house.call('hs4.admin.events.delete', { eventId: 35, ...ADMIN_CLAIMS })).toMatchObject(ASKS)
    expect(world.simulator.system.events.find(({ id }) => id === 35)).toMatchObject({ enabled: true })
  })
})
