/** Bus options: what a bus is made with. */
import type { Clock } from '../core/clock.ts'
import type { CallPipeline } from './call-pipeline.ts'
import type { BusConfig } from './bus-config.ts'
import type { FamilyEnvelope } from './capability.ts'
import type { RemoteProviderClient } from './peer.ts'
import type { BusLogger } from './provider-attempt-start.ts'

export interface BusOptions {
  readonly nodeId: string
  /** What people call this node. */
  readonly nodeName?: string
  /** Read again each time: a node may join a community while it runs. */
  readonly communityId?: () => string | undefined
  readonly config: BusConfig
  readonly clock: Clock
  readonly admit: CallPipeline
  readonly remote?: RemoteProviderClient
  /** Envelopes that peers' capabilities may ask for by name. */
  readonly families?: readonly FamilyEnvelope[]
  readonly random?: () => number
  readonly log?: BusLogger
}
