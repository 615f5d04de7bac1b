/** HomeSeer: its devices (spec 4) as pages show them, fetched page by page. */
import { ask } from './ask.ts'
import { gatewayMs } from './clock.ts'
import { isObject, listAt, numberAt, stringAt } from './json.ts'
import type { Json, JsonObject } from './json.ts'
import { readPages } from './pages.ts'
import { line } from './text.ts'

export interface HomeseerDevice {
  readonly ref: number
  readonly name: string
  readonly room: string
  readonly floor: string
  readonly status: string
  readonly value: number | undefined
  readonly capabilities: readonly string[]
  readonly sensitive: boolean
  readonly interfaceName: string
  readonly changedMs: number | undefined
  /** When HomeSeer last confirmed the value to us. */
  readonly seenMs: number | undefined
  readonly controls: readonly Control[]
}

export interface Control {
  readonly label: string
  readonly value: number
}

export const DEVICES_TOOL = 'hs4.devices.list'
const PAGE = 1_000

export function readDevices(): Promise<readonly HomeseerDevice[]> {
  const body = { limit: PAGE, maxDevices: PAGE, includeControls: true }
  return readPages({ tool: DEVICES_TOOL, body, list: 'items', next: 'nextCursor', cursor: 'cursor' }, deviceOf)
}

function deviceOf(item: Json): HomeseerDevice {
  const ageMs = numberAt(item, 'ageMs')
  const changed = Date.parse(stringAt(item, 'lastChange') ?? '')
  return {
    ref: numberAt(item, 'ref') ?? -1,
    name: line(stringAt(item, 'name') ?? '', 80),
    room: line(stringAt(item, 'location') ?? '', 60),
    floor: line(stringAt(item, 'location2') ?? '', 60),
    status: line(stringAt(item, 'status') ?? '', 60),
    value: numberAt(item, 'value'),
    capabilities: listAt(item, 'capabilities').filter((capability) => typeof capability === 'string'),
    sensitive: listAt(item, 'sensitive').length > 0,
    interfaceName: line(stringAt(item, 'interfaceName') ?? '', 40),
    changedMs: Number.isFinite(changed) ? changed : undefined,
    seenMs: ageMs === undefined ? undefined : gatewayMs() - ageMs,
    controls: listAt(item, 'controlPairs').flatMap((pair) => {
      const value = numberAt(pair, 'value')
      return isObject(pair) && value !== undefined ? [{ label: line(stringAt(pair, 'label') ?? '', 40), value }] : []
    }),
  }
}

/** What a device is taken for, and what that was recognised by. */
export interface DeviceClass {
  readonly ref: number
  readonly name: string
  readonly kind: string
  readonly asks: boolean
  readonly because: string
  readonly corrected: boolean
}

export interface DeviceClasses {
  readonly kinds: readonly string[]
  readonly devices: readonly DeviceClass[]
}

const CLASSES_TOOL = 'hs4.classes.list'
const CORRECT_TOOL = 'hs4.classes.correct'

export async function readClasses(): Promise<DeviceClasses> {
  const { data } = await ask(CLASSES_TOOL)
  return {
    kinds: listAt(data, 'kinds').flatMap((kind) => (typeof kind === 'string' ? [line(kind, 40)] : [])),
    devices: listAt(data, 'devices').map((item) => ({
      ref: numberAt(item, 'ref') ?? -1,
      name: line(stringAt(item, 'name') ?? '', 80),
      kind: line(stringAt(item, 'kind') ?? '', 40),
      asks: isObject(item) && item['asks'] === true,
      because: line(
        listAt(item, 'because')
          .filter((reason) => typeof reason === 'string')
          .join('; '),
        300,
      ),
      corrected: isObject(item) && item['corrected'] === true,
    })),
  }
}

/** Without a kind, the device is again what it is recognised as. */
export async function correctClass(ref: number, kind: string | undefined): Promise<void> {
  await ask(CORRECT_TOOL, kind === undefined ? { ref } : { ref, kind })
}

/** HomeSeer's base guard asks for these; a person at the console is the reason. */
export function setArguments(device: HomeseerDevice, value: number, label: string): JsonObject {
  return {
    ref: device.ref,
    value,
    confirm: true,
    intent: `${device.name}: ${label}`,
    reason: 'A person asked for it at the console.',
  }
}
