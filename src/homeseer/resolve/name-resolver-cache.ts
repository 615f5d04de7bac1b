/**
 * Name resolver cache: the resolver for the house as it is now and for who asks, because names that were confirmed are
 * their confirmer's own. Built again only when the house, its events, its cameras or the aliases have changed.
 *
 * Does I/O (through the catalog).
 */
import { fail, ok, type Result } from '../../core/result.ts'
import type { HomeseerCatalogClient } from '../catalog/catalog-client.ts'
import { filterExposedDevices, type DeviceExposurePredicate } from '../catalog/device-catalog-and-event-consequences.ts'
import type { HomeseerDeviceCatalog } from '../catalog/device-catalog-and-event-consequences.ts'
import type { ReceivedCamera } from '../wire/camera.ts'
import type { ReceivedEventRecord } from '../wire/event.ts'
import type { HomeseerLinkFault } from '../wire/link-fault.ts'
import type { Alias } from './alias.ts'
import { buildNameResolver, type NameResolver } from './name-resolver.ts'

export interface NameResolverCacheOptions {
  readonly catalog: HomeseerCatalogClient
  readonly configured: readonly Alias[]
  /** The names that are confirmed at this moment, of all callers. */
  readonly learned: () => readonly Alias[]
  /** Which devices callers may find; absent: all. */
  readonly exposes?: DeviceExposurePredicate | undefined
}

export interface ResolverWithWarnings {
  readonly resolver: NameResolver
  /** Sources that could not be read, so that their names are missing from the resolver. */
  readonly warnings: readonly { readonly source: 'devices' | 'events' | 'cameras'; readonly fault: HomeseerLinkFault }[]
}

/** Constants, so that equal inputs are identical objects. */
const NO_EVENTS: readonly ReceivedEventRecord[] = []
const NO_CAMERAS: readonly ReceivedCamera[] = []

/** Limited, because each holds an index of all names. */
const MAX_RESOLVERS = 8

interface Built {
  readonly from: readonly [
    HomeseerDeviceCatalog,
    readonly ReceivedEventRecord[],
    readonly ReceivedCamera[],
    readonly Alias[],
  ]
  readonly byCaller: Map<string | undefined, NameResolver>
}

export class NameResolverCache {
  readonly #options: NameResolverCacheOptions
  #built: Built | undefined

  constructor(options: NameResolverCacheOptions) {
    this.#options = options
  }

  /** The resolver of a house that is read again, for a name that leaves doubt and may be newer than the cache. */
  async renewed(caller?: string): Promise<Result<ResolverWithWarnings, HomeseerLinkFault>> {
    await this.#options.catalog.renew()
    return this.current(caller)
  }

  /** Fails only when no source could be read; the fault is that of the devices. */
  async current(caller?: string): Promise<Result<ResolverWithWarnings, HomeseerLinkFault>> {
    const { catalog, configured, learned, exposes } = this.#options
    const [devices, events, cameras] = await Promise.all([catalog.devices(), catalog.events(), catalog.cameras()])
    if (!devices.ok && !events.ok && !cameras.ok) return fail(devices.fault)
    const warnings = [
      ...(devices.ok ? [] : [{ source: 'devices' as const, fault: devices.fault }]),
      ...(events.ok ? [] : [{ source: 'events' as const, fault: events.fault }]),
      ...(cameras.ok ? [] : [{ source: 'cameras' as const, fault: cameras.fault }]),
    ]
    const from = [
      filterExposedDevices(devices.ok ? devices.value : catalog.known, exposes),
      events.ok ? events.value : NO_EVENTS,
      cameras.ok ? cameras.value : NO_CAMERAS,
      learned(),
    ] as const
    if (this.#built === undefined || this.#built.from.some((input, index) => input !== from[index]))
      this.#built = { from, byCaller: new Map() }
    const { byCaller } = this.#built
    // Callers that have confirmed no name share one resolver.
    const own = from[3].some(({ owner }) => owner !== undefined && owner === caller) ? caller : undefined
    const known = byCaller.get(own)
    if (known !== undefined) return ok({ resolver: known, warnings })
    const aliases = [...configured, ...from[3].filter(({ owner }) => owner === undefined || owner === own)]
    const resolver = buildNameResolver({ devices: from[0], events: from[1], cameras: from[2], aliases })
    if (byCaller.size >= MAX_RESOLVERS) byCaller.clear()
    byCaller.set(own, resolver)
    return ok({ resolver, warnings })
  }
}
