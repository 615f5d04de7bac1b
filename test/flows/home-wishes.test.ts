/**
 * Sixty wishes in English and German, a third of them ambiguous or impossible, over the tools of the home alone, in a
 * house of four hundred devices that is generated with a seed. Each is written down with what becomes of the house: what
 * the simulated hardware is told, or that nothing is. Three calls and 1,500 tokens of answers at most.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { countTokens } from '../../bench/token-count.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { generateHouse } from '../generated-house.ts'
import { drawing } from '../seeded-random.ts'
import type { GeneratedThing } from '../generated-house.ts'
import { AGENT, openHouse, openWorld } from '../homeseer-rig.ts'
import type { House, World } from '../homeseer-rig.ts'

const SEED = Number(process.env['HOME_WISHES_SEED'] ?? 20_261_117)
const { parts, things } = generateHouse(SEED)
const why = 'a wish of the test'

let world: World
let house: House
beforeAll(async () => {
  world = await openWorld({ parts })
  house = await openHouse(world)
})
afterAll(async () => {
  await house.stop()
  await world.close()
})

type Call = readonly [tool: string, args: JsonObject]

interface Wish {
  /** What somebody says. */
  readonly said: string
  /** What an agent makes of it: calls in turn, each of which may follow from the answer before. */
  readonly calls: readonly (Call | ((answer: JsonObject) => Call))[]
  /** What the hardware is told, by ref. Empty: nothing moves. */
  readonly told?: Readonly<Record<number, number>>
  /** What the last answer says or asks. */
  readonly says?: RegExp
  readonly asks?: boolean
}

function hardware(): ReadonlyMap<number, number> {
  return new Map(things.map(({ ref }) => [ref, world.simulator.house.record(ref, true)?.value ?? NaN]))
}

interface PlayedWish {
  readonly answer: JsonObject
  readonly moved: Readonly<Record<string, number>>
  readonly wanted: Readonly<Record<string, number>>
  readonly tokens: number
}

async function play({ calls, told = {} }: Wish): Promise<PlayedWish> {
  const before = hardware()
  let answer: JsonObject = {}
  let tokens = 0
  for (const call of calls) {
    const [tool, args] = typeof call === 'function' ? call(answer) : call
    answer = await house.call(tool, args, AGENT)
    tokens += countTokens(answer)
  }
  const moved = Object.fromEntries([...hardware()].filter(([ref, value]) => before.get(ref) !== value))
  const wanted = Object.fromEntries(Object.entries(told).filter(([ref, value]) => before.get(Number(ref)) !== value))
  return { answer, moved, wanted, tokens }
}

const draw = drawing(SEED + 1)
function some(kind: GeneratedThing['kind'], fits: (thing: GeneratedThing) => boolean = () => true): GeneratedThing {
  const all = things.filter((thing) => thing.kind === kind && fits(thing))
  const one = all[draw(all.length)]
  if (one === undefined) throw new Error(`this house has no such ${kind}`)
  return one
}
const inRoom = (kind: GeneratedThing['kind'], { room }: GeneratedThing): readonly GeneratedThing[] =>
  things.filter((thing) => thing.kind === kind && thing.room === room)
const all = (of: readonly GeneratedThing[], value: number): Readonly<Record<number, number>> =>
  Object.fromEntries(of.map(({ ref }) => [ref, value]))

/** Room names of which `Bedroom` and `Bedroom 2` are not each other. */
const plain = ({ room }: GeneratedThing): boolean => !room.name.endsWith('2')
const set = (thing: string, to: string | number): Call => ['home_set', { thing, to, why }]

function possible(): readonly Wish[] {
  const wishes: Wish[] = []
  for (let round = 0; round < 4; round++) {
    const lamp = some('light', plain)
    const { which, room } = lamp
    wishes.push(
      {
        said: `turn on the ${which[0]} lamp, ${room.name}`,
        calls: [set(`the ${which[0].toLowerCase()} lamp in the ${room.name}`, 'on')],
        told: { [lamp.ref]: 99 },
      },
      {
        said: `${which[1]}lampe, ${room.other}, auf 40 %`,
        calls: [set(`${which[1]}lampe ${room.other}`, '40 %')],
        told: { [lamp.ref]: 40 },
      },
      { said: 'half', calls: [set(`${room.other} ${which[0]} light`, 'half')], told: { [lamp.ref]: 50 } },
      {
        said: 'in Worten',
        calls: [set(`${which[1]}licht im ${room.name}`, 'dreißig Prozent')],
        told: { [lamp.ref]: 30 },
      },
      { said: 'brighter', calls: [set(`${which[0]} lamp ${room.name}`, 'a bit brighter')], told: { [lamp.ref]: 40 } },
      { said: 'undo that', calls: [['undo', { why }]], told: { [lamp.ref]: 30 } },
      { said: 'mach es aus', calls: [set(`${which[1]}leuchte ${room.other}`, 'ausschalten')], told: { [lamp.ref]: 0 } },
    )
  }
  const blind = some('blind', plain)
  const plug = some('plug', (thing) => thing.which[0] === 'Radio' || thing.which[0] === 'Printer')
  const stat = some('thermostat', plain)
  const lamp = some('light', (thing) => plain(thing) && inRoom('light', thing).length > 1)
  const lights = inRoom('light', lamp)
  wishes.push(
    { said: 'Rollladen runter', calls: [set(`Rollladen ${blind.room.other}`, 'runter')], told: { [blind.ref]: 0 } },
    { said: 'open the shutter', calls: [set(`${blind.room.name} shutter`, 'open')], told: { [blind.ref]: 99 } },
    {
      said: `${plug.which[0]} on`,
      calls: [set(`${plug.which[0]} ${plug.room.name}`, 'on')],
      told: { [plug.ref]: 255 },
    },
    {
      said: `${plug.which[1]} aus`,
      calls: [set(`${plug.which[1]} im ${plug.room.other}`, 'aus')],
      told: { [plug.ref]: 0 },
    },
    { said: '21.5 degrees', calls: [set(`${stat.room.other} thermostat`, '21,5 Grad')], told: { [stat.ref]: 21.5 } },
    {
      said: 'a bit warmer',
      calls: [['heating_set', { zone: stat.room.name, by: 1, why }]],
      told: { [stat.ref]: 22.5 },
    },
    {
      said: 'all lights there on',
      calls: [['home_set_many', { room: lamp.room.other, kind: 'light', to: 'on', why }]],
      told: all(lights, 99),
    },
    {
      said: 'all lights there, by the plural',
      calls: [
        set(`${lamp.room.name} lights`, 'off'),
        (answer) => {
          const { tool, arguments: args } = answer['next'] as { tool: string; arguments: JsonObject }
          return [tool, args]
        },
      ],
      told: all(lights, 0),
    },
    {
      said: 'everything on but one',
      calls: [
        [
          'home_set_many',
          { room: lamp.room.name, kind: 'light', to: 60, except: [`${lamp.which[0]} lamp ${lamp.room.name}`], why },
        ],
      ],
      told: all(
        lights.filter((each) => each !== lamp),
        60,
      ),
    },
    {
      said: 'undo that',
      calls: [['undo', { why }]],
      told: all(
        lights.filter((each) => each !== lamp),
        0,
      ),
    },
    { said: 'is the garage open?', calls: [['home_state', { of: ['garage door'] }]], says: /is closed/ },
    { said: 'Ist die Haustür abgeschlossen?', calls: [['home_state', { of: ['Haustürschloss'] }]], says: /is locked/ },
    {
      said: 'wer hat das Licht ausgemacht?',
      calls: [['changes', { since: '1h', about: `${lamp.room.name} ${lamp.which[0]} lamp` }]],
      says: /change/,
    },
    {
      said: 'in ten minutes',
      calls: [
        [
          'later',
          { call: { tool: 'home_set', arguments: { thing: `hs:${lamp.ref}`, to: 'on', why } }, in_minutes: 10, why },
        ],
      ],
      says: /Planned for/,
    },
    {
      said: 'a slip of the pen',
      calls: [set(`${lamp.which[0].replace(/(.)(.)$/, '$2$1')} lamp ${lamp.room.name}`, 20)],
      told: { [lamp.ref]: 20 },
    },
  )
  return wishes
}

function impossible(): readonly Wish[] {
  const lamp = some('light', (thing) => plain(thing) && inRoom('light', thing).length > 1)
  const sensor = some('sensor', (thing) => /Temperatur/.test(thing.name))
  return [
    { said: 'turn on the lamp', calls: [set('lamp', 'on')], asks: true },
    { said: 'Licht an', calls: [set('Licht', 'an')], asks: true },
    { said: 'the light there, of several', calls: [set(`${lamp.room.name} light`, 'on')], asks: true },
    { said: 'the room on', calls: [set(lamp.room.name, 'on')], asks: true },
    { said: 'two at once', calls: [set('kitchen lamp and garage lamp', 'on')], says: /Nothing was done/ },
    { said: 'not that one', calls: [set(`not the ${lamp.which[0]} lamp`, 'on')], says: /Nothing was done/ },
    { said: 'alle außer', calls: [set(`alle Lampen außer ${lamp.name}`, 'aus')], says: /Nothing was done/ },
    { said: 'a sauna', calls: [set('sauna', 'on')], says: /Nothing was done/ },
    { said: 'a room that is not there', calls: [set('ballroom ceiling lamp', 'on')], says: /Nothing was done/ },
    { said: 'a sensor on', calls: [set(`hs:${sensor.ref}`, 'on')], says: /only tells/ },
    { said: 'too bright', calls: [set(`hs:${lamp.ref}`, '400 %')], says: /Nothing was done/ },
    { said: 'purple', calls: [set(`hs:${lamp.ref}`, 'purple')], says: /Nothing was done/ },
    { said: 'a question', calls: [set('is the ceiling lamp on?', 'on')], says: /question/ },
    { said: 'unlock the door', calls: [set('front door lock', 'unlock')], says: /asked a person/ },
    { said: 'Garagentor auf', calls: [set('Garagentor', 'auf')], says: /asked a person/ },
    { said: 'all locks', calls: [set('all locks', 'unlock')], says: /asked a person|Nothing was done/ },
    { said: 'a slip opens no door', calls: [set('frnot door lock', 'unlock')], says: /Nothing was done/ },
    {
      said: 'many in no room',
      calls: [['home_set_many', { room: 'Atlantis', kind: 'light', to: 'on', why }]],
      asks: true,
    },
    {
      said: 'all but what?',
      calls: [['home_set_many', { kind: 'light', to: 'on', except: ['the purple dragon'], why }]],
      asks: true,
    },
    { said: 'no scene', calls: [['home_scene_run', { scene: 'Party like 1999', why }]], says: /Nothing was done/ },
    { said: 'warmer where?', calls: [['heating_set', { to: 22, why }]], asks: true },
  ]
}

describe(`a house with ${things.length} devices, seed ${SEED}`, () => {
  const wishes = [...possible(), ...impossible()]

  it('has at least four hundred devices and sixty requests', () => {
    expect(things.length).toBeGreaterThanOrEqual(400)
    expect(wishes.length).toBeGreaterThanOrEqual(60)
  })

  it.each(wishes.map((wish, index) => [index, wish.said, wish] as const))('request %i: %s', async (_, __, wish) => {
    const { answer, moved, wanted, tokens } = await play(wish)
    expect({ moved, answer }).toEqual({ moved: wanted, answer })
    expect(answer['say']).toMatch(wish.says ?? /./)
    expect(wish.asks === true ? answer['ask'] : 'not asked').toEqual(expect.any(String))
    expect(wish.calls.length).toBeLessThanOrEqual(3)
    expect(tokens).toBeLessThanOrEqual(1_500)
  })

  it('is described in at most 1,500 tokens', async () => {
    expect(countTokens(await house.call('home_overview', {}, AGENT))).toBeLessThanOrEqual(1_500)
    const rooms = [...new Set(things.map(({ room }) => room.name))].slice(0, 20)
    expect(countTokens(await house.call('home_state', { of: rooms, detail: true }, AGENT))).toBeLessThanOrEqual(1_500)
  })

  it.each(['hs4.devices.list', 'hs4.audit.query', 'ledger_changes'])(
    'keeps pages of %s within 5,000 tokens after a day of use',
    async (tool) => {
      expect(countTokens(await house.call(tool, {}, AGENT))).toBeLessThanOrEqual(5_000)
    },
  )

  it('lists as many changes as it announces, also across pages of the ledger', async () => {
    const answer = await house.call('changes', { since: '24h' }, AGENT)
    expect(answer['say']).toMatch(/^The newest 12 changes in the last 24h\. /)
    expect(answer['changes']).toHaveLength(12)
  })
})
