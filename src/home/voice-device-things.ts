/**
 * Voice device things: what can be controlled on an ESP32 device, as things of the home: its lamp, its volume, its
 * screen. From the offers of its tools, whose names the firmware gives.
 */
import type { Reply } from '../bus/call.ts'
import type { Offer } from '../bus/capability.ts'
import type { HandlerContext } from '../bus/call-factory.ts'
import { parseJsonReplacingLoneSurrogates } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import type { HomeDependencies } from './home-dependencies.ts'
import type { ThingKind } from './home-words.ts'
import { readJsonValueAt, readObjectsAt, readTextAt } from './json-path.ts'
import type { Rooms } from './room.ts'
import type { Thing, ThingCall, ThingControl } from './thing.ts'

interface Part {
  readonly part: string
  readonly kind: ThingKind
  readonly controls: readonly {
    readonly tool: string
    readonly wish: ThingControl['wish']
    readonly argument?: string
  }[]
}

/** The stock firmware's tools; custom boards have others, which `tools_find` finds. */
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

/** `devices` is the data of `devices.list`, `offers` are the offers on the bus. */
export function collectVoiceDeviceThings(
  devices: Json | undefined,
  offers: readonly Offer[],
  rooms: Rooms,
): readonly Thing[] {
  const tools = new Set(offers.filter(({ name }) => name.startsWith('device.')).map(({ name }) => name))
  return readObjectsAt(devices, 'devices').flatMap((device) => {
    const slug = readTextAt(device, 'device') ?? ''
    const name = readTextAt(device, 'name') ?? slug
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
      }
      return [thing]
    })
  })
}

const LAMP_STATE = 'self.lamp.get_state'

/**
 * The tool that reads the present value of a part, and the path to the value in its answer; the last step of the path
 * is the name of the argument.
 */
const BEFORE: Readonly<Record<string, { readonly tool: string; readonly path: readonly [...string[], string] }>> = {
  'self.audio_speaker.set_volume': { tool: 'self.get_device_status', path: ['audio_speaker', 'volume'] },
  'self.screen.set_brightness': { tool: 'self.get_device_status', path: ['screen', 'brightness'] },
  'self.screen.set_theme': { tool: 'self.get_device_status', path: ['screen', 'theme'] },
  'self.lamp.turn_on': { tool: LAMP_STATE, path: ['power'] },
  'self.lamp.turn_off': { tool: LAMP_STATE, path: ['power'] },
}

/** The call that restores a device's present state, read before it is changed; `undefined` when it is unknown. */
export async function readDeviceRestoreCall(
  { bus }: Pick<HomeDependencies, 'bus'>,
  { tool }: ThingCall,
  context: HandlerContext,
): Promise<ThingCall | undefined> {
  const [, slug = '', own = ''] = /^device\.([^.]+)\.(.+)$/.exec(tool) ?? []
  const source = BEFORE[own]
  if (source === undefined || bus.offer(`device.${slug}.${source.tool}`) === undefined) return undefined
  const outcome = await context.call(`device.${slug}.${source.tool}`, {})
  if (!outcome.ok) return undefined
  const value = readJsonValueAt(statusIn(outcome.value), ...source.path)
  if (source.tool !== LAMP_STATE)
    return value === undefined ? undefined : { tool, arguments: { [source.path.at(-1) ?? '']: value } }
  if (typeof value !== 'boolean') return undefined
  return { tool: `device.${slug}.self.lamp.turn_${value ? 'on' : 'off'}`, arguments: {} }
}

/** Firmware answers with a text that is JSON. */
function statusIn({ data, content }: Reply): Json | undefined {
  const text = content?.map((block) => block['text']).find((each) => typeof each === 'string')
  return (typeof text === 'string' ? parseJsonReplacingLoneSurrogates(text) : undefined) ?? data
}

/** A device has no room of its own: a `Kitchen speaker` is in the kitchen, if the home has one. */
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
