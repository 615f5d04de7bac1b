/**
 * HomeSeer tool context: the dependencies of the HomeSeer tools.
 */
import type { Offer } from '../../bus/capability.ts'
import type { HomeseerConfig } from '../../config/homeseer.ts'
import type { Clock } from '../../core/clock.ts'
import type { FamilyGuardServices } from '../../guard/guard.ts'
import type { HomeseerCatalogClient } from '../catalog/catalog-client.ts'
import type { DeviceClassOverrideStore } from '../catalog/device-class-override-store.ts'
import type { DeviceExposurePredicate } from '../catalog/device-catalog-and-event-consequences.ts'
import type { EventDefinitionSource } from '../catalog/event-file-store.ts'
import type { AliasStore } from '../resolve/alias-store.ts'
import type { Alias } from '../resolve/alias.ts'
import type { NameResolverCache } from '../resolve/name-resolver-cache.ts'
import type { HomeseerLink } from '../wire/homeseer-link-client.ts'
import type { LateDeviceChangeTracker } from './change-verification-client.ts'
import type { HomeseerAuditReader } from './homeseer-audit.ts'
import type { HomeseerChangePolicy } from './change-policy.ts'

/** The part of the bus that lists tools. */
export interface OfferLookup {
  readonly offer: (name: string) => Offer | undefined
  readonly offers: () => readonly Offer[]
}

/** One HomeSeer and everything that is known about it. */
export interface HomeseerToolContext {
  readonly config: HomeseerConfig
  readonly rules: HomeseerChangePolicy
  readonly link: HomeseerLink
  readonly catalog: HomeseerCatalogClient
  readonly resolver: NameResolverCache
  readonly configuredAliases: readonly Alias[]
  /** `undefined` where learning is switched off. */
  readonly learned: AliasStore | undefined
  readonly eventFiles: EventDefinitionSource
  readonly arrivals: LateDeviceChangeTracker
  /** The owner's device classes. */
  readonly classes: DeviceClassOverrideStore
  /** Which devices exist for callers; `undefined`: all. */
  readonly exposes: DeviceExposurePredicate | undefined
  readonly bus: OfferLookup
  readonly guard: Pick<FamilyGuardServices, 'previewDecision' | 'changes' | 'mode' | 'mayRead'>
  readonly audit: HomeseerAuditReader
  readonly clock: Clock
}
