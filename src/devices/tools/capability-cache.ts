/**
 * Capability cache: the capabilities made from a device's tools, as long as tools and name are unchanged. A device that
 * reconnects then needs no new ones: with 256 tools, making them takes longer than the rest of a reconnection.
 *
 * Pure, apart from what it holds.
 */
import { hash } from 'node:crypto'
import type { Capability } from '../../bus/capability.ts'
import type { DeviceTool } from '../wire/tool-list.ts'
import { computeToolDefinitionHash } from './tool-pins.ts'
import type { ToolWithCapabilityName } from './tool-capability-names.ts'

export interface DeviceToolListing {
  readonly name: string
  readonly online: boolean
  /** All tools of the device, because descriptions name other tools. */
  readonly named: readonly ToolWithCapabilityName<DeviceTool>[]
}

type Made = Capability | undefined

interface CachedListing {
  readonly listing: string
  /** Keyed by state and name, since a description says whether the device is connected. */
  readonly made: Map<string, Made>
}

export class DeviceCapabilityCache {
  readonly #listings = new Map<string, CachedListing>()

  /** Returns a function that finds the capability of a tool in this listing, or makes it. */
  of(deviceId: string, { name, online, named }: DeviceToolListing): (capability: string, make: () => Made) => Made {
    const words = named.flatMap(({ capability, tool }) => [capability, computeToolDefinitionHash(tool)])
    const listing = hash('sha256', JSON.stringify([name, ...words]))
    const known = this.#listings.get(deviceId)
    const cached = known?.listing === listing ? known : { listing, made: new Map<string, Made>() }
    this.#listings.set(deviceId, cached)
    return (capability, make) => {
      const key = `${online} ${capability}`
      if (!cached.made.has(key)) cached.made.set(key, make())
      return cached.made.get(key)
    }
  }

  forget(deviceId: string): void {
    this.#listings.delete(deviceId)
  }
}
