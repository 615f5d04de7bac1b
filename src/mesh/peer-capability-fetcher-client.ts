/**
 * Peer capability fetcher: fetches other nodes' capabilities and schemas when a manifest announces new ones.
 *
 *   manifest received ─▶ capabilities? ─▶ schemas? ─▶ on the bus
 *        ▲ there was news meanwhile       │
 *        └────────────────────────────────┘
 *
 * Does I/O: it sends requests through `ask`.
 */
import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../core/clock.ts'
import type { Fault } from '../core/fault.ts'
import type { JsonObject } from '../core/json.ts'
import type { Logger } from '../core/logger.ts'
import type { Result } from '../core/result.ts'
import type { PeerCapability } from '../bus/peer.ts'
import { sanitizeLine } from '../core/untrusted-text.ts'
import { decodePeerSchemas } from './identity/capability-wire.ts'
import type { Community } from './identity/community.ts'
import type { KnownPeer, PeerDirectory } from './peer-directory.ts'
import type { PeerAddress } from './transport.ts'

export interface PeerCapabilityFetcherDependencies {
  readonly directory: PeerDirectory
  readonly clock: Clock
  readonly logger: Logger
  readonly community: () => Community | undefined
  readonly request: (peer: PeerAddress, question: string, body: JsonObject) => Promise<Result<JsonObject, Fault>>
}

/** So few that an answer is parsed quickly. */
const SCHEMAS_AT_ONCE = 16
/** Kinds of faults without an answer, after which it is not known whether the contract can be read. */
const UNANSWERED: ReadonlySet<Fault['kind']> = new Set(['offline', 'busy', 'timed-out', 'cancelled'])

export class PeerCapabilityFetcher {
  readonly #parts: PeerCapabilityFetcherDependencies
  /** Nodes that are being asked, and whether a newer manifest arrived meanwhile. */
  readonly #fetching = new Map<string, { isStale: boolean }>()

  constructor(parts: PeerCapabilityFetcherDependencies) {
    this.#parts = parts
  }

  /** Repeats as long as newer manifests arrive, because an answer may be older than the newest one. */
  async fetch(nodeId: string): Promise<void> {
    const underWay = this.#fetching.get(nodeId)
    if (underWay !== undefined) {
      underWay.isStale = true
      return
    }
    const fetching = { isStale: false }
    this.#fetching.set(nodeId, fetching)
    try {
      do {
        fetching.isStale = false
        await this.#fetchOnce(nodeId)
      } while (fetching.isStale)
    } finally {
      this.#fetching.delete(nodeId)
    }
  }

  async #fetchOnce(nodeId: string): Promise<void> {
    const { directory, clock } = this.#parts
    // Looked up each time, because the node may have gone and come back as another entry.
    const peer = directory.find(nodeId)
    if (peer === undefined) return
    if (peer.capabilitiesHash !== peer.manifest.capabilitiesHash) {
      const full = await this.#parts.request(directory.addressOf(peer), 'mesh.manifest', {})
      const community = this.#parts.community()
      if (!full.ok || community === undefined) return
      directory.receive(full.value, {
        community,
        nowMs: clock.now(),
        monotonicMs: clock.monotonic(),
        source: 'exchange',
      })
    }
    await this.#fetchSchemas(peer)
    directory.publish(peer)
  }

  async #fetchSchemas(peer: KnownPeer): Promise<void> {
    const { directory, logger } = this.#parts
    const missing = directory.missingSchemas(peer)
    const wrong: PeerCapability[] = []
    const batches: (readonly PeerCapability[])[] = []
    for (let at = 0; at < missing.length; at += SCHEMAS_AT_ONCE) batches.push(missing.slice(at, at + SCHEMAS_AT_ONCE))
    // The loop also covers batches that are added to the list.
    for (const some of batches) {
      if (directory.missingSchemas(peer).length === 0) break
      const hashes = [...new Set(some.map(({ schemaHash }) => schemaHash))]
      const answer = await this.#parts.request(directory.addressOf(peer), 'mesh.schemas', { hashes })
      if (!answer.ok && UNANSWERED.has(answer.fault.kind)) break
      if (!answer.ok) {
        // The batch is too large for one answer, so its contracts are fetched one by one; one that is too large alone
        // is refused.
        if (some.length > 1) batches.push(...some.map((capability) => [capability]))
        else wrong.push(...some)
        continue
      }
      for (const capability of some) {
        const schemas = decodePeerSchemas(answer.value[capability.schemaHash])
        if (schemas === undefined) continue
        if (!directory.schemas.store(capability, schemas)) wrong.push(capability)
        // Parsing a large contract takes milliseconds, so other requests are served between two of them.
        await setImmediate()
      }
    }
    const [first] = wrong
    if (first === undefined) return
    directory.refuseSchemas(
      peer,
      wrong.map(({ schemaHash }) => schemaHash),
    )
    logger.warn(
      { node: peer.nodeId, capability: sanitizeLine(first.name, 128), contracts: wrong.length },
      'a contract is too large, or not the one that was announced',
    )
  }
}
