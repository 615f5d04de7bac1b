/**
 * Endpoint order: which endpoint of a peer is tried first.
 *
 * One that led nowhere just now is tried last: an address of another network costs seconds to find out about.
 */
import type { Clock } from '../core/clock.ts'
import { formatDestinationKey } from './transport.ts'
import type { PeerAddress, PeerEndpoint } from './transport.ts'

const BAD_WAY_MS = 30_000
/** More than a community has nodes; whoever fills it forgets, which costs a wait and nothing else. */
const MAX_BAD_WAYS = 4_096

export class EndpointOrder {
  readonly #clock: Clock
  readonly #badUntilMs = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  inOrder({ nodeId, ways }: PeerAddress): readonly PeerEndpoint[] {
    if (this.#badUntilMs.size === 0 || ways.length < 2) return ways
    const nowMs = this.#clock.monotonic()
    const isBad = (way: PeerEndpoint): boolean => (this.#badUntilMs.get(formatDestinationKey(nodeId, way)) ?? 0) > nowMs
    return [...ways.filter((way) => !isBad(way)), ...ways.filter(isBad)]
  }

  ledNowhere(nodeId: string, way: PeerEndpoint): void {
    if (this.#badUntilMs.size >= MAX_BAD_WAYS) this.#badUntilMs.clear()
    this.#badUntilMs.set(formatDestinationKey(nodeId, way), this.#clock.monotonic() + BAD_WAY_MS)
  }
}
