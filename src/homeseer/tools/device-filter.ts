/**
 * Device filter: which devices a list is about, and how many of them one answer holds.
 */
import type { HomeseerDevice } from '../catalog/device.ts'
import type { HomeseerToolContext } from './homeseer-tool-context.ts'

export interface DeviceFilters {
  readonly location1?: string
  readonly location2?: string
  readonly interfaceName?: string
  readonly capability?: string
}

/** Matches parts of names without regard to case, as in the contract; a capability or kind exactly. */
export function matchesDeviceFilter(
  device: HomeseerDevice,
  { location1, location2, interfaceName, capability }: DeviceFilters,
): boolean {
  return (
    holds(device.location, location1) &&
    holds(device.location2, location2) &&
    holds(device.interfaceName, interfaceName) &&
    (capability === undefined || isWhat(device, capability.trim().toLowerCase()))
  )
}

function isWhat({ capabilities, kind }: HomeseerDevice, wanted: string): boolean {
  return kind === wanted || capabilities.some((capability) => capability === wanted)
}

function holds(text: string, part = ''): boolean {
  return part === '' || text.toLowerCase().includes(part.toLowerCase())
}

/** A caller may request fewer than the owner's cap, never more (`HS4_MAX_DEVICES_DEFAULT_CAP`). */
export function resolveDeviceLimit({ config }: HomeseerToolContext, wanted: number | undefined): number {
  return Math.min(wanted ?? config.maxDevices, config.maxDevices)
}
