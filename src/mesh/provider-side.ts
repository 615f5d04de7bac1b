/**
 * Provider side: what stands between the transports and this node's bus.
 *
 *   messages ─▶ inbound ─┐
 *                        ├─▶ one gate: the same sessions, the same memory of what was here, the same budgets
 *   packets ─▶ packets ──┘
 *
 * Pure joining.
 */
import type { GateParts } from './gate.ts'
import { InboundCalls } from './inbound.ts'
import type { InboundParts } from './inbound.ts'
import type { MeshOptions } from './mesh-options.ts'
import { PacketProvider } from './packets/packet-provider.ts'
import { PeerRateLimiter } from './peer-rate-limiter.ts'
import { MAX_STRANGERS_PER_WINDOW, ReplayCache } from './replay-cache.ts'
import { GrantedSessions } from './sessions.ts'

export interface ProviderSide {
  readonly sessions: GrantedSessions
  readonly inbound: InboundCalls
  readonly packets: PacketProvider
}

export function createProviderSide(
  { config, identity, store, clock, logger }: MeshOptions,
  { bus, desk }: Pick<InboundParts, 'bus' | 'desk'>,
): ProviderSide {
  const sessions = new GrantedSessions(identity.id, clock, config.signatures)
  const gate: GateParts = {
    self: identity.id,
    community: () => store.community(),
    sessions,
    replay: new ReplayCache(clock.monotonic()),
    strangersReplay: new ReplayCache(clock.monotonic(), MAX_STRANGERS_PER_WINDOW),
    rate: new PeerRateLimiter(config.rate),
    clock,
  }
  const inbound = new InboundCalls({
    identity,
    gate,
    bus,
    desk,
    report: (error) => logger.error({ err: error }, 'a message of another node failed here'),
  })
  return {
    sessions,
    inbound,
    packets: new PacketProvider({ identity, gate, inbound, maxBodyBytes: config.maxBodyBytes }),
  }
}
