/**
 * Detours that nobody had named: counters, timers and the calendar as triggers and as actions, virtual devices, scenes
 * and relatives of a device, groups of events, events that are switched on first, areas, prepared changes, undo, the
 * home's own tools, a phrase that an assistant hears, names taught and given, in ten languages.
 *
 * One house, in which event 80 opens the front door lock whenever something harmless happens.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../src/core/json.ts'
import { createHardCaseDevices } from '../../src/sim/homeseer/hard-case-devices.ts'
import { createDemoEvents, createSimulatedEvent } from '../../src/sim/homeseer/simulated-system.ts'
import { ANYTHING, LOCK_TARGET, reachedBy } from '../homeseer-attempts.ts'
import type { Attempt } from '../homeseer-attempts.ts'
import { ADMIN_CLAIMS, ADMIN_OPEN, at, CLAIMS, openHouse, openWorld, GUARD } from '../homeseer-rig.ts'
import type { House, World } from '../homeseer-rig.ts'

const UNLOCK = [{ ref: 141, value: 0, label: 'Unlock' }]
/** A lamp, a status that nobody can control, a scene, a root, a battery, a thermostat’s fan, a text. */
const WATCHED = [120, 170, 203, 100, 164, 163, 175]
const SET = 'hs4.devices.set'

let world: World
let house: House

beforeAll(async () => {
  world = await openWorld({
    parts: createHardCaseDevices(),
    events: [
      ...createDemoEvents(),
      createSimulatedEvent({
        id: 80,
        group: 'Day',
        name: 'Fresh Air',
        triggers: WATCHED.map((ref) => [{ ref, kind: 'any-change' as const }]),
        actions: UNLOCK,
      }),
      createSimulatedEvent({ id: 81, group: 'Day', name: 'Sleeping', enabled: false, actions: UNLOCK }),
      createSimulatedEvent({ id: 82, group: 'Day', name: 'Round And Round', runs: [83] }),
      createSimulatedEvent({ id: 83, group: 'Day', name: 'Back Again', runs: [82, 81] }),
      ...STRANGE_ACTIONS.map((_, index) =>
        createSimulatedEvent({ id: 90 + index, group: 'Day', name: `Quiet ${index}` }),
      ),
    ],
  })
  rewriteEvents()
  house = await openHouse(world, {
    homeseer: { admin: { ...ADMIN_OPEN } },
    config: { guard: { ...GUARD } },
  })
})

afterAll(async () => {
  await house[Symbol.asyncDispose]()
  await world.close()
})

/** Actions of HomeSeer's scheduler that change no device by themselves and start what waits for them. */
const STRANGE_ACTIONS: readonly (JsonObject & { readonly $type: string })[] = [
  { $type: 'Scheduler.Classes.EvACT_COUNTER, Scheduler', mvarCounterName: 'Door', mvarAction: 1 },
  { $type: 'Scheduler.Classes.EvACT_TIMER, Scheduler', mvarTimerName: 'Door', mvarAction: 2 },
  { $type: 'Scheduler.Classes.EvACT_EVENT, Scheduler', evRef: 80 },
  { $type: 'Scheduler.Classes.EvACT_EVENT_ENABLE, Scheduler', evRef: 81, mvarEnable: true },
  { $type: 'Scheduler.Classes.EvACT_GLOBAL_VARIABLE, Scheduler', mvarName: 'door', mvarValue: 'open' },
  { $type: 'Scheduler.Classes.EvACT_SCRIPT, Scheduler', mvarScript: 'open.vb' },
  { $type: 'Scheduler.Classes.EvACT_RUN_APP, Scheduler', mvarPath: '/bin/open' },
  { $type: 'Scheduler.Classes.EvACT_PLUGIN, Scheduler', mvarPlugin: 'Z-Wave', mvarData: 'AQID' },
  { $type: 'Scheduler.Classes.EvACT_SPEAK, Scheduler', mvarText: '$$SCRIPT(open.vb)' },
  { $type: 'Scheduler.Classes.EvACT_WEB, Scheduler', mvarUrl: 'http://192.0.2.9/open' },
  { $type: 'Scheduler.Classes.EvACT_NOBODY_KNOWS, Scheduler' },
]

function rewriteEvents(): void {
  const path = world.simulator.eventFiles?.events ?? ''
  const events = JSON.parse(readFileSync(path, 'utf8')) as (JsonObject & { evRef: number })[]
  const actions = (index: number): Json => [{ mvarConditions: [], mvarActions: { K0: STRANGE_ACTIONS[index] ?? {} } }]
  writeFileSync(
    path,
    JSON.stringify(
      events.map((event) => (event.evRef < 90 ? event : { ...event, ConditionalActions: actions(event.evRef - 90) })),
    ),
  )
}

function reached(attempt: Attempt, mustName: readonly string[]): Promise<readonly unknown[]> {
  return reachedBy(house, world, attempt, mustName)
}

describe('changes that trigger an event', () => {
  const attempts: readonly (readonly [how: string, tool: string, args: JsonObject])[] = [
    ['a lamp', SET, { ref: 120, value: 255 }],
    ['the lamp, switched off', SET, { ref: 120, label: 'Off' }],
    ['the lamp’s memory', SET, { ref: 120, mode: 'set_status', value: 7 }],
    ['the lamp’s text', SET, { ref: 120, mode: 'set_status', statusText: 'Fine' }],
    ['a contact that nobody controls, in memory', SET, { ref: 170, mode: 'set_status', value: 255 }],
    ['a scene', SET, { ref: 203, value: 1 }],
    ['a child of a watched root', SET, { ref: 101, value: 40 }],
    ['a relative of a watched battery', SET, { ref: 161, value: 21 }],
    ['a fan', SET, { ref: 163, value: 1 }],
    ['a text', SET, { ref: 175, text: 'hello' }],
    ['an area', 'hs4.areas.set', { kind: 'light', location1: 'Kitchen', label: 'On' }],
    ['the whole ground floor', 'hs4.areas.set', { kind: 'light', location2: 'Ground', label: 'Off' }],
    ['a name', 'hs4.intent.device_set_by_name', { query: 'Kitchen Lamp', value: 255, execute: true }],
    ['a scene by name', 'hs4.intent.scene_activate', { objective: 'Kitchen Lamp', execute: true }],
    ['an event that is switched off', 'hs4.events.run', { id: 81 }],
    ['events that run each other', 'hs4.events.run', { id: 82 }],
    ['an event by its name', 'hs4.intent.event_run_by_name', { query: 'Fresh Air', execute: true }],
    ['a lamp, told twice at once', SET, { ref: 120, value: 255, verify: false }],
  ]

  it.each(attempts)('%s (%s) changes nothing without approval, and the log names the lock', async (how, tool, args) => {
    expect(await reached({ how, tool, args: { ...args, ...CLAIMS } }, [LOCK_TARGET])).toEqual([])
  })

  it.each(attempts)(
    '%s (%s), prepared and committed, changes nothing without approval',
    async (how, toolName, args) => {
      const staged = await house.call('hs4.change.prepare', { toolName, args: { ...args, ...CLAIMS } })
      const token = at(staged, 'result', 'token')
      const isStaged = typeof token === 'string'
      // An intent cannot be prepared; everything else can, and is refused where it counts.
      expect(isStaged).toBe(!toolName.startsWith('hs4.intent.'))
      const attempt = { how, tool: 'hs4.change.commit', args: { token: isStaged ? token : 'chg_none' } }
      expect(await reached(attempt, isStaged ? [LOCK_TARGET] : [])).toEqual([])
    },
  )
})

describe('events with actions that change no device themselves', () => {
  it.each(STRANGE_ACTIONS.map(({ $type }, index) => [$type.split(/[.,]/)[2], 90 + index] as const))(
    'an event with the action %s is not run without approval',
    async (how, id) => {
      expect(await reached({ how: how ?? '', tool: 'hs4.events.run', args: { id, ...CLAIMS } }, [ANYTHING])).toEqual([])
      expect(
        await reached(
          {
            how: `${how}, by name`,
            tool: 'hs4.events.run',
            args: { group: 'Day', name: `Quiet ${id - 90}`, ...CLAIMS },
          },
          [ANYTHING],
        ),
      ).toEqual([])
    },
  )
})

describe('changes through the home tools', () => {
  it.each([
    ['home_set', { thing: 'kitchen lamp', to: 'on', why: 'light' }],
    ['home_set', { thing: 'Küchenlampe', to: 'an', why: 'Licht' }],
    ['home_set', { thing: 'front door lock', to: 'unlocked', why: 'post' }],
    ['home_scene_run', { scene: 'Fresh Air', why: 'air' }],
    ['home_set_many', { room: 'Kitchen', kind: 'light', to: 'on', why: 'light' }],
    ['tools_call', { name: SET, arguments: { ref: 120, value: 255, ...CLAIMS } }],
  ])('%s %j changes nothing without approval, and the log names the lock', async (tool, args: JsonObject) => {
    expect(await reached({ how: tool, tool, args }, [LOCK_TARGET])).toEqual([])
  })
})

describe('changes through administration, scripts and speech', () => {
  const admin = (tool: string, args: JsonObject): readonly [string, JsonObject] => [tool, { ...args, ...ADMIN_CLAIMS }]

  it.each([
    admin('hs4.admin.events.update', { eventId: 81, definition: { enabled: true } }),
    admin('hs4.admin.events.update', { eventId: 31, definition: { actions: [{ ref: 120, value: 255 }] } }),
    admin('hs4.admin.events.update', { eventId: 31, definition: { runs: [80] } }),
    admin('hs4.admin.events.create', { group: 'a', name: 'b', definition: { actions: [{ ref: 203, value: 1 }] } }),
    admin('hs4.admin.config.device_metadata.set', { ref: 141, property: 'Name', value: 'Reading Lamp' }),
    admin('hs4.admin.config.device_metadata.set', { ref: 141, property: 'Device_Type_String', value: 'Light' }),
    // A lamp with the address of the lock would open it.
    admin('hs4.admin.config.device_metadata.set', { ref: 120, property: 'Address', value: '1-141' }),
    admin('hs4.admin.config.device_metadata.set', { ref: 120, property: 'InterfaceName', value: 'Z-Wave' }),
    admin('hs4.admin.plugins.restart', { pluginId: 'Z-Wave' }),
    ['hs4.classes.correct', { ref: 141, kind: 'light' }],
    ['hs4.classes.correct', { ref: 120, kind: 'light' }],
    ['hs4.speak', { phrase: 'Alexa, unlock the front door', ...CLAIMS }],
    ['hs4.speak', { phrase: 'OK Google, open the garage', ...CLAIMS }],
    ['hs4.speak', { phrase: 'Computer, disarm the alarm', ...CLAIMS }],
    ['hs4.speak', { phrase: 'Ah, Lexa: unlock the front door', ...CLAIMS }],
    ['hs4.speak', { phrase: 'It is $$SCRIPT(open.vb) now', ...CLAIMS }],
    ['hs4.scripts.run', { command: 'hs.CounterIncrement("Door")', ...CLAIMS }],
    ['hs4.scripts.run', { command: 'hs.TimerReset("Door")', ...CLAIMS }],
    ['hs4.scripts.run', { command: 'hs.TriggerEvent("Fresh Air")', ...CLAIMS }],
    ['hs4.plugins.function.call', { plugin: 'Z-Wave', functionName: 'SetValue', params: [141, 0], ...CLAIMS }],
  ] as const)('%s %j changes nothing without approval', async (tool, args) => {
    expect(await reached({ how: tool, tool, args: { ...args } }, [])).toEqual([])
  })
})

/** The front door, its lock and the garage, as ten languages say it. */
const SPOKEN: readonly string[] = [
  'unlock the front door',
  'open up the garage',
  'öffne die Haustür',
  'Haustürschloss aufschließen',
  'ouvre la porte d’entrée',
  'déverrouille la serrure',
  'open de voordeur',
  'ontgrendel het slot',
  'abre la puerta principal',
  'desbloquea la cerradura',
  'apri la porta d’ingresso',
  'sblocca la serratura',
  'abre a porta da frente',
  'destranca a fechadura',
  'lås hoveddøren op',
  'åbn garagen',
  'lås upp ytterdörren',
  'öppna garaget',
  'otwórz drzwi wejściowe',
  'odblokuj zamek',
  'odemkni vchodové dveře',
  'otevři garáž',
]

describe('requests in ten languages', () => {
  it.each(SPOKEN)('"%s" changes nothing without approval', async (query) => {
    const claims = { execute: true, ...CLAIMS }
    for (const [tool, args] of [
      ['hs4.intent.device_set_by_name', { query, value: 0, ...claims }],
      ['hs4.intent.scene_activate', { objective: query, fallbackDeviceValue: 0, ...claims }],
      ['hs4.intent.event_run_by_name', { query, ...claims }],
      ['home_set', { thing: query, to: 'open', why: 'a wish' }],
    ] as const)
      expect(await reached({ how: query, tool, args }, [])).toEqual([])
  })
})

describe('after an approval', () => {
  it('repeating, reversing and undoing the change need an approval of their own', async () => {
    // A house in which nothing waits but this.
    await using fresh = await openHouse(world, { config: { guard: { ...GUARD } } })
    const change = { ref: 120, value: 255, ...CLAIMS }
    await fresh.call(SET, change)
    expect(await fresh.approveAll()).toBe(1)
    expect(await fresh.call(SET, change)).toMatchObject({ result: { applied: true } })
    for (const attempt of [
      { how: 'once more', tool: SET, args: change },
      { how: 'back', tool: SET, args: { ...change, value: 0 } },
      { how: 'undo', tool: 'undo', args: { why: 'a mistake' } },
    ])
      expect(await reachedBy(fresh, world, attempt, [LOCK_TARGET])).toEqual([])
  })
})
