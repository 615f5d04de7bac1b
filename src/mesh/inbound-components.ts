/**
 * Inbound components: what stands between the transports and this node's bus.
 *
 *   messages ─▶ inbound ─┐
 *                        ├─▶ one gate: the same sessions, the same memory of what was here, the same budgets
 *   packets ─▶ packets ──┘
 *
 * Only joins.
 */
import type { MessageGateDependencies } from './message-gate.ts'
import { InboundCallHandler } from './inbound-calls.ts'
import type { InboundCallDependencies } from './inbound-calls.ts'
import type { MeshOptions } from './mesh-options.ts'
import { PacketCallServer } from './packets/packet-provider.ts'
import { PeerRateLimiter } from './peer-rate-limiter.ts'
import { MAX_NON_MEMBER_REQUESTS_PER_WINDOW, ReplayCache } from './replay-cache.ts'
import { IssuedSessions } from './sessions.ts'

export interface InboundMeshComponents {
  readonly sessions: IssuedSessions
  readonly inbound: InboundCallHandler
  readonly packets: PacketCallServer
}

export function createInboundMeshComponents(
  { config, identity, store, clock, logger }: MeshOptions,
  { bus, control }: Pick<InboundCallDependencies, 'bus' | 'control'>,
): InboundMeshComponents {
  const sessions = new IssuedSessions(identity.id, clock, config.signatures)
  const gate: MessageGateDependencies = {
    self: identity.id,
    community: () => store.community(),
    sessions,
    replay: new ReplayCache(clock.monotonic()),
    nonMemberReplay: new ReplayCache(clock.monotonic(), MAX_NON_MEMBER_REQUESTS_PER_WINDOW),
    rate: new PeerRateLimiter(config.rate),
    clock,
  }
  const inbound = new InboundCallHandler({
    identity,
    gate,
    bus,
    control,
    report: (error) => logger.error({ err: error }, 'handling a message of another node failed'),
  })
  return {
    sessions,
    inbound,
    packets: new PacketCallServer({ identity, gate, inbound, maxBodyBytes: config.maxBodyBytes }),
  }
}
