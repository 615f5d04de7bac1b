/**
 * Endpoint order: which endpoint of a peer is tried first.
 *
 * An endpoint that just failed is tried last, because an address in another network fails only after seconds.
 */
import type { Clock } from '../core/clock.ts'
import { formatDestinationKey } from './transport.ts'
import type { PeerAddress, PeerEndpoint } from './transport.ts'

const BAD_ENDPOINT_MS = 30_000
/** More than a community has nodes. When the list is full it is cleared, which only costs a wait. */
const MAX_BAD_WAYS = 4_096

export class EndpointOrder {
  readonly #clock: Clock
  readonly #badUntilMs = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  inOrder({ nodeId, endpoints }: PeerAddress): readonly PeerEndpoint[] {
    if (this.#badUntilMs.size === 0 || endpoints.length < 2) return endpoints
    const nowMs = this.#clock.monotonic()
    const isBad = (endpoint: PeerEndpoint): boolean =>
      (this.#badUntilMs.get(formatDestinationKey(nodeId, endpoint)) ?? 0) > nowMs
    return [...endpoints.filter((endpoint) => !isBad(endpoint)), ...endpoints.filter(isBad)]
  }

  markUnreachable(nodeId: string, endpoint: PeerEndpoint): void {
    if (this.#badUntilMs.size >= MAX_BAD_WAYS) this.#badUntilMs.clear()
    this.#badUntilMs.set(formatDestinationKey(nodeId, endpoint), this.#clock.monotonic() + BAD_ENDPOINT_MS)
  }
}
