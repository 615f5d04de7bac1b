/**
 * Membership sync: gets the membership records that other nodes have and this one lacks, and shows a peer those that it
 * lost.
 *
 *   digests differ ─▶ ask for the peer's records ─▶ verified ─▶ merged by the store
 *   refused as a non-member by a member ─▶ show it our records
 *
 * Does I/O: it sends requests through `ask`.
 */
import type { Fault } from '../core/fault.ts'
import { isJsonObject } from '../core/json.ts'
import type { JsonObject } from '../core/json.ts'
import type { Logger } from '../core/logger.ts'
import type { Result } from '../core/result.ts'
import { parseCommunityDocument } from './identity/community.ts'
import type { Community } from './identity/community.ts'
import { readMeshRefusalReason } from './mesh-refusal.ts'
import { MEMBERSHIP_MERGE_REQUEST_NAME } from './message-gate.ts'
import type { PeerDirectory, KnownPeer } from './peer-directory.ts'
import type { PeerAddress } from './transport.ts'

type MembershipRequestSender = (
  peer: PeerAddress,
  question: string,
  body: JsonObject,
) => Promise<Result<JsonObject, Fault>>

interface MembershipSyncDependencies {
  readonly directory: Pick<PeerDirectory, 'addressOf'>
  readonly logger: Logger
  readonly community: () => Community | undefined
  readonly request: MembershipRequestSender
  /** Sends a signed request to a node that may not know us. */
  readonly requestFromUnknown: MembershipRequestSender
  /** Takes records whose signatures were verified; the store decides whether any is new. */
  readonly onCommunity: (community: Community) => Promise<void>
}

export class MembershipSync {
  readonly #parts: MembershipSyncDependencies

  constructor(parts: MembershipSyncDependencies) {
    this.#parts = parts
  }

  /** Two different sets may each lack records of the other, so both sides ask. */
  compare(peer: KnownPeer, digest: string): void {
    const held = this.#parts.community()
    if (held !== undefined && digest !== held.digest) void this.fetch(peer)
  }

  async fetch(peer: KnownPeer): Promise<void> {
    const answer = await this.#parts.request(this.#parts.directory.addressOf(peer), 'mesh.community', {})
    if (answer.ok) await this.receive(answer.value)
  }

  /**
   * The peer is a member here and states that we are none there: it lost our admission, so we show it the records that
   * it signed.
   */
  async remind(peer: PeerAddress, fault: Fault): Promise<void> {
    const held = this.#parts.community()
    if (held === undefined || readMeshRefusalReason(fault) !== 'stranger') return
    const answer = await this.#parts.requestFromUnknown(peer, MEMBERSHIP_MERGE_REQUEST_NAME, {
      community: held.document,
    })
    const shown = answer.ok ? answer.value['community'] : undefined
    if (isJsonObject(shown)) await this.receive(shown)
  }

  async receive(document: JsonObject): Promise<void> {
    const held = this.#parts.community()
    if (held === undefined) return
    const read = parseCommunityDocument(document, held.id)
    if (read.ok) await this.#parts.onCommunity(read.value)
    else this.#parts.logger.warn({ fault: read.fault }, 'a member list was refused')
  }
}
