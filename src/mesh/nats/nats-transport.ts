/**
 * NATS transport: calls, streams and the registry over one connection to a NATS server.
 */
import type { StreamFrameEmitter } from '../../bus/peer.ts'
import type { Clock } from '../../core/clock.ts'
import type { Fault } from '../../core/fault.ts'
import type { Logger } from '../../core/logger.ts'
import type { Result } from '../../core/result.ts'
import { formatIsoTime } from '../../toolbox/iso-time.ts'
import type { NodeIdentity } from '../identity/node-key.ts'
import { stripNodeIdPrefix } from '../identity/node-key.ts'
import type { InboundCallHandler } from '../inbound-calls.ts'
import type { BrokeredMeshTransport } from '../mesh-options.ts'
import type { PacketCallServer } from '../packets/packet-provider.ts'
import type {
  DeliveredAnswer,
  MessageDestination,
  MeshMessage,
  PacketConnectionListener,
  PacketConnection,
  DeliveredStreamEnd,
} from '../transport.ts'
import { NatsLink } from './nats-link-client.ts'
import { NatsCallClient } from './nats-call-client.ts'
import { NatsCallServer } from './nats-call-server.ts'
import { NatsRegistry } from './registry-client.ts'
import { createServiceVerbAnswer, listServiceVerbSubjects } from './service-verbs.ts'
import type { NatsServiceVerb } from './service-verbs.ts'

export interface NatsOptions {
  readonly servers: readonly string[]
  readonly useNkey: boolean
  readonly identity: NodeIdentity
  readonly name: string
  readonly version: string
  readonly communityId: () => string | undefined
  readonly inbound: InboundCallHandler
  readonly packets: PacketCallServer
  readonly maxBodyBytes: number
  readonly clock: Clock
  readonly logger: Logger
}

const VERBS: readonly NatsServiceVerb[] = ['PING', 'INFO', 'STATS']

export class NatsTransport implements BrokeredMeshTransport {
  readonly name = 'nats'
  readonly source: NatsRegistry
  readonly #options: NatsOptions
  readonly #link: NatsLink
  readonly #caller: NatsCallClient
  readonly #server: NatsCallServer
  readonly #startedAt: string
  #answersVerbs = false

  constructor(options: NatsOptions) {
    const { identity, communityId, inbound, packets, maxBodyBytes, clock, logger } = options
    this.#options = options
    this.#startedAt = formatIsoTime(clock.now())
    this.#link = new NatsLink(options, {
      onUp: (connection) => {
        const community = communityId()
        if (community !== undefined) this.#listen(community)
        this.source.linkUp(connection)
      },
      onDown: () => this.#caller.linkLost(),
    })
    this.#caller = new NatsCallClient({ link: this.#link, self: identity.id })
    this.#server = new NatsCallServer({
      link: this.#link,
      identity,
      inbound,
      packets,
      maxBodyBytes,
      clock,
    })
    this.source = new NatsRegistry({
      link: this.#link,
      self: identity.id,
      communityId,
      clock,
      logger,
      onCommunity: (community) => this.#listen(community),
    })
    this.#link.start()
  }

  get isConnected(): boolean {
    return this.#link.isUp
  }

  get downSinceMs(): number | undefined {
    return this.#link.downSinceMs
  }

  get isRegistryShut(): boolean {
    return this.source.isShut
  }

  send(
    to: MessageDestination<'nats'>,
    message: MeshMessage,
    signal: AbortSignal,
  ): Promise<Result<DeliveredAnswer, Fault>> {
    return this.#caller.send(to, message, signal)
  }

  stream(
    to: MessageDestination<'nats'>,
    message: MeshMessage,
    options: { readonly signal: AbortSignal; readonly emit: StreamFrameEmitter },
  ): Promise<Result<DeliveredStreamEnd, Fault>> {
    return this.#caller.stream(to, message, options)
  }

  wire(to: MessageDestination<'nats'>): PacketConnection | undefined {
    return this.#caller.wire(to)
  }

  onPackets(events: PacketConnectionListener): void {
    this.#caller.onPackets(events)
  }

  async close(): Promise<void> {
    this.#server.close()
    this.#caller.close()
    await this.#link.close()
  }

  /** The link keeps subscriptions over reconnects, so they are made once per community. */
  #listen(communityId: string): void {
    this.#caller.subscribe(communityId)
    this.#server.subscribe(communityId)
    if (this.#answersVerbs) return
    this.#answersVerbs = true
    const { identity, name, version } = this.#options
    const id = stripNodeIdPrefix(identity.id)
    for (const verb of VERBS)
      for (const subject of listServiceVerbSubjects(verb, id))
        this.#link.subscribe(subject, (message) => {
          const facts = {
            id,
            version,
            nodeName: name,
            nodeId: identity.id,
            startedAt: this.#startedAt,
            subject: this.#server.subject ?? '',
            stats: this.#server.stats,
          }
          message.respond(JSON.stringify(createServiceVerbAnswer(verb, facts)))
        })
  }
}
