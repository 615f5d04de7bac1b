/**
 * Peer candidates: addresses where another node may live, and when to probe each of them next.
 */
import { computeBackoffMs } from '../core/backoff.ts'
import { STATIC_PEER_SOURCE_NAME } from './discovery/peer-source.ts'

export interface PeerCandidate {
  readonly host: string
  readonly port: number
  /** The id of the node that answered at the address, once it was probed. */
  nodeId: string | undefined
  readonly source: string
  attempt: number
  dueMs: number
  isBusy: boolean
}

export interface CandidateAddress {
  readonly host: string
  readonly port: number
  readonly nodeId?: string | undefined
  readonly source: string
}

const PROBE_BACKOFF = { firstMs: 500, maxMs: 30_000, factor: 2 }
/** After this many attempts the wait no longer grows. */
const MAX_ATTEMPT = 8
/** Limited, because hints may come from unauthenticated sources. */
const MAX_CANDIDATES = 1_024

export class PeerCandidates {
  readonly #byPlace = new Map<string, PeerCandidate>()

  /** Returns a new candidate; `undefined` if it is known already, or there are too many. */
  add({ host, port, nodeId, source }: CandidateAddress): PeerCandidate | undefined {
    const key = `${host} ${port}`
    const known = this.#byPlace.get(key)
    if (known !== undefined) {
      known.nodeId = nodeId ?? known.nodeId
      return undefined
    }
    if (this.#byPlace.size >= MAX_CANDIDATES && !this.#makeRoom()) return undefined
    const candidate: PeerCandidate = { host, port, nodeId, source, attempt: 0, dueMs: 0, isBusy: false }
    this.#byPlace.set(key, candidate)
    return candidate
  }

  due(nowMs: number): readonly PeerCandidate[] {
    return [...this.#byPlace.values()].filter(({ isBusy, dueMs }) => !isBusy && nowMs >= dueMs)
  }

  probeLater(candidate: PeerCandidate, nowMs: number): void {
    candidate.dueMs = nowMs + computeBackoffMs(PROBE_BACKOFF, Math.min(candidate.attempt++, MAX_ATTEMPT))
  }

  /** Makes all candidates due at once. */
  hurry(): void {
    for (const candidate of this.#byPlace.values()) [candidate.attempt, candidate.dueMs] = [0, 0]
  }

  drop({ host, port }: PeerCandidate): void {
    this.#byPlace.delete(`${host} ${port}`)
  }

  forget(nodeId: string): void {
    for (const [key, candidate] of this.#byPlace) if (candidate.nodeId === nodeId) this.#byPlace.delete(key)
  }

  /** Drops a candidate that has not answered for minutes. Addresses that the owner configured are never dropped. */
  #makeRoom(): boolean {
    for (const [key, { attempt, isBusy, source }] of this.#byPlace)
      if (attempt > MAX_ATTEMPT && !isBusy && source !== STATIC_PEER_SOURCE_NAME) return this.#byPlace.delete(key)
    return false
  }
}
