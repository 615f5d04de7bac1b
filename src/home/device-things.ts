/**
 * Device things: what an ESP32 device can be told, as things of the home: its lamp, its volume, its screen. From the
 * offers of its tools, whose names the firmware gives.
 *
 * Pure.
 */
import type { Offer } from '../bus/capability.ts'
import type { Json } from '../core/json.ts'
import type { ThingKind } from './home-words.ts'
import { objectsAt, textAt } from './json-path.ts'
import type { Rooms } from './room.ts'
import type { Thing, ThingControl } from './thing.ts'

interface Part {
  readonly part: string
  readonly kind: ThingKind
  readonly controls: readonly {
    readonly tool: string
    readonly wish: ThingControl['wish']
    readonly argument?: string
  }[]
}

/** The stock firmware's tools; a board of one's own has others, which `tools_find` finds. */
const PARTS: readonly Part[] = [
  {
    part: 'lamp',
    kind: 'light',
    controls: [
      { tool: 'self.lamp.turn_on', wish: 'on' },
      { tool: 'self.lamp.turn_off', wish: 'off' },
    ],
  },
  {
    part: 'volume',
    kind: 'speaker',
    controls: [{ tool: 'self.audio_speaker.set_volume', wish: 'level', argument: 'volume' }],
  },
  {
    part: 'screen',
    kind: 'screen',
    controls: [{ tool: 'self.screen.set_brightness', wish: 'level', argument: 'brightness' }],
  },
]

/** `devices`: the data of `devices.list`; `offers`: what is on the bus. */
export function deviceThings(devices: Json | undefined, offers: readonly Offer[], rooms: Rooms): readonly Thing[] {
  const tools = new Set(offers.filter(({ name }) => name.startsWith('device.')).map(({ name }) => name))
  return objectsAt(devices, 'devices').flatMap((device) => {
    const slug = textAt(device, 'device') ?? ''
    const name = textAt(device, 'name') ?? slug
    const isOnline = device['online'] === true
    return PARTS.flatMap(({ part, kind, controls }) => {
      const offered = controls.filter(({ tool }) => tools.has(`device.${slug}.${tool}`))
      if (offered.length === 0) return []
      const thing: Thing = {
        handle: `device:${slug}:${part}`,
        name: kind === 'light' ? name : `${name} ${part}`,
        room: roomIn(name, rooms),
        floor: undefined,
        kind,
        state: isOnline ? 'online' : 'asleep',
        isOn: undefined,
        isOpen: undefined,
        isLocked: undefined,
        ageSeconds: undefined,
        isSensitive: false,
        controls: offered.map((control) => controlOf(slug, control)),
        // Firmware does not say what was set before.
        restore: undefined,
      }
      return [thing]
    })
  })
}

/** A device has no room of its own: `Kitchen speaker` is in the kitchen if there is one. */
function roomIn(name: string, rooms: Rooms): string | undefined {
  const words = name.split(/\s+/)
  return words.map((word) => rooms.find(word)?.key).find((key) => key !== undefined)
}

function controlOf(slug: string, { tool, wish, argument }: Part['controls'][number]): ThingControl {
  const name = `device.${slug}.${tool}`
  if (argument === undefined) return { wish, callFor: () => ({ tool: name, arguments: {} }) }
  return {
    wish,
    minimum: 0,
    maximum: 100,
    callFor: (value) => ({ tool: name, arguments: { [argument]: Math.round(value ?? 0) } }),
  }
}
