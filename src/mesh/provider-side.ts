/**
 * Provider side: what stands between the transports and this node's bus.
 *
 *   messages ─▶ inbound ─┐
 *                        ├─▶ one gate: the same sessions, the same memory of what was here, the same budgets
 *   packets ─▶ packets ──┘
 *
 * Pure joining.
 */
import type { MessageGateDependencies } from './message-gate.ts'
import { InboundCalls } from './inbound-calls.ts'
import type { InboundCallDependencies } from './inbound-calls.ts'
import type { MeshOptions } from './mesh-options.ts'
import { PacketProvider } from './packets/packet-provider.ts'
import { PeerRateLimiter } from './peer-rate-limiter.ts'
import { MAX_NON_MEMBERS_PER_WINDOW, ReplayCache } from './replay-cache.ts'
import { ProviderSessions } from './sessions.ts'

export interface ProviderSideServices {
  readonly sessions: ProviderSessions
  readonly inbound: InboundCalls
  readonly packets: PacketProvider
}

export function createProviderSide(
  { config, identity, store, clock, logger }: MeshOptions,
  { bus, control }: Pick<InboundCallDependencies, 'bus' | 'control'>,
): ProviderSideServices {
  const sessions = new ProviderSessions(identity.id, clock, config.signatures)
  const gate: MessageGateDependencies = {
    self: identity.id,
    community: () => store.community(),
    sessions,
    replay: new ReplayCache(clock.monotonic()),
    strangersReplay: new ReplayCache(clock.monotonic(), MAX_NON_MEMBERS_PER_WINDOW),
    rate: new PeerRateLimiter(config.rate),
    clock,
  }
  const inbound = new InboundCalls({
    identity,
    gate,
    bus,
    control,
    report: (error) => logger.error({ err: error }, 'a message of another node failed here'),
  })
  return {
    sessions,
    inbound,
    packets: new PacketProvider({ identity, gate, inbound, maxBodyBytes: config.maxBodyBytes }),
  }
}
