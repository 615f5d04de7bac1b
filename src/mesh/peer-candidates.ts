/**
 * Peer candidates: addresses where another node may live, and when to probe each of them next.
 */
import { computeBackoffMs } from '../core/backoff.ts'
import { STATIC_PEER_SOURCE_NAME } from './discovery/peer-source.ts'

export interface PeerCandidate {
  readonly host: string
  readonly port: number
  /** Whose key answered there, once somebody has looked. */
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
/** Beyond this many the wait no longer grows. */
const MAX_ATTEMPT = 8
/** Hints come from strangers, too. */
const MAX_CANDIDATES = 1_024

export class PeerCandidates {
  readonly #byPlace = new Map<string, PeerCandidate>()

  /** The new one; `undefined` where it is known already, or where there are too many. */
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

  /** All of them are worth another look at once. */
  hurry(): void {
    for (const candidate of this.#byPlace.values()) [candidate.attempt, candidate.dueMs] = [0, 0]
  }

  drop({ host, port }: PeerCandidate): void {
    this.#byPlace.delete(`${host} ${port}`)
  }

  forget(nodeId: string): void {
    for (const [key, candidate] of this.#byPlace) if (candidate.nodeId === nodeId) this.#byPlace.delete(key)
  }

  /** Where nobody answered for minutes there may be nobody any more. What the owner named is never given up. */
  #makeRoom(): boolean {
    for (const [key, { attempt, isBusy, source }] of this.#byPlace)
      if (attempt > MAX_ATTEMPT && !isBusy && source !== STATIC_PEER_SOURCE_NAME) return this.#byPlace.delete(key)
    return false
  }
}
