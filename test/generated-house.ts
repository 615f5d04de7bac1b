/**
 * Generated house: four hundred devices of a HomeSeer that nobody tuned anything to. Rooms, names and languages are
 * drawn from lists with a seed; each thing is known with its room, its words and what it is.
 */
import {
  BINARY_SWITCH_CONTROLS,
  BLIND_CONTROLS,
  DIMMER_DISPLAY,
  BLIND_DISPLAY,
  DIMMER_CONTROLS,
  GARAGE_CONTROLS,
  LOCK_CONTROLS,
  createSimulatedHomeseerDevice,
  createSetpointControls,
} from '../src/sim/homeseer/simulated-homeseer-device.ts'
import type { SimulatedHomeseerDevice } from '../src/sim/homeseer/simulated-homeseer-device.ts'
import { drawing } from './seeded-random.ts'

export interface GeneratedThing {
  readonly ref: number
  readonly kind: 'light' | 'plug' | 'blind' | 'lock' | 'sensor' | 'thermostat' | 'door' | 'odd'
  readonly room: GeneratedRoom
  /** Which of its kind in that room, in both languages; empty for the only one. */
  readonly which: readonly [english: string, german: string]
  readonly name: string
}

export interface GeneratedRoom {
  /** As HomeSeer has it. */
  readonly name: string
  /** As somebody says it in the other language. */
  readonly other: string
  readonly floor: string
  readonly isGerman: boolean
}

const ROOMS: readonly (readonly [english: string, german: string, floor: string])[] = [
  ['Living Room', 'Wohnzimmer', 'Ground'],
  ['Kitchen', 'Küche', 'Ground'],
  ['Dining Room', 'Esszimmer', 'Ground'],
  ['Hallway', 'Flur', 'Ground'],
  ['Study', 'Arbeitszimmer', 'Ground'],
  ['Toilet', 'WC', 'Ground'],
  ['Laundry Room', 'Waschküche', 'Cellar'],
  ['Garage', 'Garage', 'Ground'],
  ['Master Bedroom', 'Schlafzimmer', 'Upstairs'],
  ['Nursery', 'Kinderzimmer', 'Upstairs'],
  ['Guest Room', 'Gästezimmer', 'Upstairs'],
  ['Bathroom', 'Badezimmer', 'Upstairs'],
  ['Attic', 'Dachboden', 'Upstairs'],
  ['Terrace', 'Terrasse', 'Outside'],
  ['Balcony', 'Balkon', 'Outside'],
  ['Garden', 'Garten', 'Outside'],
  ['Bedroom 2', 'Schlafzimmer 2', 'Upstairs'],
  ['Workshop', 'Werkstatt', 'Cellar'],
]
const LIGHTS: readonly (readonly [string, string])[] = [
  ['Ceiling', 'Decken'],
  ['Reading', 'Lese'],
  ['Wall', 'Wand'],
  ['Table', 'Tisch'],
  ['Corner', 'Eck'],
]
const PLUGS: readonly (readonly [string, string])[] = [
  ['Coffee Machine', 'Kaffeemaschine'],
  ['Fridge', 'Kühlschrank'],
  ['Printer', 'Drucker'],
  ['Radio', 'Radio'],
  ['Fountain', 'Brunnen'],
  ['Kettle', 'Wasserkocher'],
]

/** What people really call things: twice the same, with pictures, commas and commands in the name. */
const ODD_ROOMS: readonly GeneratedRoom[] = [
  { name: 'Zimmer 3', other: 'Room 3', floor: 'Upstairs', isGerman: true },
  { name: '🛋️ Lounge', other: 'Lounge', floor: 'Ground', isGerman: false },
  { name: 'Büro/Office', other: 'Office', floor: 'Ground', isGerman: true },
]
const ODD_NAMES: readonly (readonly string[])[] = [
  ['Lamp', 'Lamp', 'LAMPE', 'Nachtlicht 🦄', 'Everything', 'Mum’s lamp'],
  ['💡 Lamp', 'Stehlampe', 'Lamp, left (old)', 'Lamp, right', 'Off', 'TV'],
  ['Licht an/aus', 'Do not touch!', 'Not in use', 'Ventilator', 'Lampe (nicht ausschalten)', 'Lamp 2'],
]

/** The same house for the same seed; with `odd` also rooms whose names nobody planned. */
export function generateHouse(
  seed: number,
  { odd = false }: { readonly odd?: boolean } = {},
): {
  readonly parts: readonly SimulatedHomeseerDevice[]
  readonly things: readonly GeneratedThing[]
} {
  const draw = drawing(seed)
  const things: GeneratedThing[] = []
  const parts: SimulatedHomeseerDevice[] = []
  let ref = 1_000
  const add = (
    thing: Omit<GeneratedThing, 'ref'>,
    options: Omit<Parameters<typeof createSimulatedHomeseerDevice>[0], 'ref' | 'name'>,
  ): void => {
    const one = { ...thing, ref: ref++ }
    things.push(one)
    parts.push(
      createSimulatedHomeseerDevice({
        ref: one.ref,
        name: one.name,
        location: one.room.name,
        location2: one.room.floor,
        ...options,
      }),
    )
  }
  for (const [english, german, floor] of ROOMS) {
    const isGerman = draw(2) === 1
    const room: GeneratedRoom = {
      name: isGerman ? german : english,
      other: isGerman ? english : german,
      floor,
      isGerman,
    }
    const named = (inEnglish: string, inGerman: string): string => (isGerman ? inGerman : inEnglish)
    for (const which of pick(LIGHTS, 2 + draw(3), draw))
      add(
        { kind: 'light', room, which, name: named(`${which[0]} Lamp`, `${which[1]}lampe`) },
        { pairs: DIMMER_CONTROLS, display: DIMMER_DISPLAY },
      )
    for (const which of pick(PLUGS, 1 + draw(2), draw))
      add(
        { kind: 'plug', room, which, name: named(which[0], which[1]) },
        { pairs: BINARY_SWITCH_CONTROLS, value: draw(2) * 255 },
      )
    if (draw(3) > 0)
      add(
        { kind: 'blind', room, which: ['', ''], name: named('Blind', 'Rollladen') },
        { pairs: BLIND_CONTROLS, display: BLIND_DISPLAY, value: 99 },
      )
    add(
      { kind: 'thermostat', room, which: ['', ''], name: named('Thermostat Setpoint', 'Thermostat Solltemperatur') },
      { pairs: createSetpointControls('HeatSetPoint', 5, 30), value: 20, display: { suffix: ' C' } },
    )
    // What only tells: most of what a real house has.
    for (const [inEnglish, inGerman, value] of SENSORS)
      add(
        { kind: 'sensor', room, which: ['', ''], name: named(inEnglish, inGerman) },
        { value, display: { suffix: '' } },
      )
    for (let index = 1; index <= 12; index++)
      add(
        {
          kind: 'sensor',
          room,
          which: ['', ''],
          name: `${named('Node', 'Knoten')} ${ref} ${named('Signal', 'Signal')}`,
        },
        { value: index },
      )
  }
  const hall = things.find(({ room }) => room.floor === 'Ground')?.room ?? things[0]?.room
  const garage = things.find(({ room }) => room.name === 'Garage')?.room
  if (hall !== undefined)
    add({ kind: 'lock', room: hall, which: ['', ''], name: 'Front Door Lock' }, { pairs: LOCK_CONTROLS, value: 255 })
  if (garage !== undefined)
    add({ kind: 'door', room: garage, which: ['', ''], name: 'Garage Door' }, { pairs: GARAGE_CONTROLS })
  if (odd)
    for (const [index, room] of ODD_ROOMS.entries())
      for (const name of ODD_NAMES[index] ?? [])
        add({ kind: 'odd', room, which: ['', ''], name }, { pairs: BINARY_SWITCH_CONTROLS, value: 0 })
  return { parts, things }
}

const SENSORS: readonly (readonly [string, string, number])[] = [
  ['Temperature', 'Temperatur', 21],
  ['Humidity', 'Luftfeuchte', 45],
  ['Motion', 'Bewegungsmelder', 0],
  ['Battery', 'Batterie', 90],
  ['Power', 'Leistung', 3],
]

export function pick<Item>(from: readonly Item[], count: number, draw: (limit: number) => number): readonly Item[] {
  const left = [...from]
  return Array.from({ length: Math.min(count, from.length) }, () => left.splice(draw(left.length), 1)[0] as Item)
}
