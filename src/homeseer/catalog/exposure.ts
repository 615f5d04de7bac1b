/**
 * Exposure: which devices an agent gets to see at all. HomeSeer's own flags for voice assistants can decide it, or a list
 * of the owner. What is not exposed is not found, neither by ref nor by name; it is still part of what a change reaches.
 *
 * Pure.
 */
import type { Device } from './device.ts'
import type { House } from './house.ts'

/** Bits of `misc`: discovered by Google, discovered by Amazon. */
const ASSISTANTS = 0x40_0000 | 0x80_0000

export type Exposes = (device: Device) => boolean

/** `undefined` exposes everything. */
export function exposureOf(config: {
  readonly expose: 'all' | 'voice' | 'list'
  readonly isListed: (ref: number) => boolean
}): Exposes | undefined {
  if (config.expose === 'all') return undefined
  if (config.expose === 'list') return ({ ref }) => config.isListed(ref)
  return ({ record }) => record.voiceCommand !== '' || (record.misc & ASSISTANTS) !== 0
}

/** The same house gives the same part of it. */
const parts = new WeakMap<House, House>()

export function exposedPart(house: House, exposes: Exposes | undefined): House {
  if (exposes === undefined) return house
  const known = parts.get(house)
  if (known !== undefined) return known
  const devices = house.devices.filter(exposes)
  const part = { devices, byRef: new Map(devices.map((device) => [device.ref, device])) }
  parts.set(house, part)
  return part
}
