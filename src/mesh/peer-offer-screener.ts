/**
 * Peer offer screener: the offers of every peer as they are on the bus, screened once and again when something has
 * changed: what the peer says, what this node offers itself, or what a person accepted.
 *
 * Pure, given its store and its clock.
 */
import type { CapabilityBus } from '../bus/bus.ts'
import type { PeerCapability } from '../bus/peer.ts'
import type { Logger } from '../core/logger.ts'
import { sanitizeLine } from '../core/untrusted-text.ts'
import type { OfferPinStore } from './identity/offer-pin-store.ts'
import { computeWithheldOffersDigest } from './offer-pin.ts'
import { screenPeerOffers } from './offer-screen.ts'
import type { ScreenedOffers } from './offer-screen.ts'
import { PeerCapabilityNameCheck } from './peer-capability-name-check.ts'

export interface PeerOfferScreenerDependencies {
  readonly bus: CapabilityBus
  readonly store: OfferPinStore
  readonly maxOffers: number
  readonly monotonic: () => number
  readonly logger: Logger
  /** Publishes a peer to the bus again, because its offers were pinned. */
  readonly publish: (nodeId: string) => void
}

export interface UnscreenedPeerOffers {
  readonly nodeId: string
  readonly name: string
  readonly capabilities: readonly PeerCapability[]
}

interface ScreenedPeer {
  readonly name: string
  readonly capabilities: readonly PeerCapability[]
  readonly revision: string
  readonly screened: ScreenedOffers
}

interface Noted {
  readonly withheld: ScreenedOffers['withheld']
  readonly digest: string
  /** No other note is written before this time. */
  readonly nextMs: number
}

/** A node can change its definitions with every manifest, and each note costs a write to the disk. */
const NOTE_MS = 10_000

export class PeerOfferScreener {
  readonly #parts: PeerOfferScreenerDependencies
  readonly #screened = new Map<string, ScreenedPeer>()
  readonly #noted = new Map<string, Noted>()
  readonly #pinning = new Set<string>()
  #own: { readonly revision: string; readonly names: PeerCapabilityNameCheck } | undefined
  #ownRevision = 0

  constructor(parts: PeerOfferScreenerDependencies) {
    this.#parts = parts
  }

  /** Call when this node's own offers have changed. */
  touch(): void {
    this.#ownRevision++
    const { store, bus, logger } = this.#parts
    store.keepPrefixes(bus.registry.reserved).catch((error: unknown) => {
      logger.warn({ err: error }, 'the families of this node could not be stored')
    })
  }

  forget(nodeId: string): void {
    this.#screened.delete(nodeId)
    this.#noted.delete(nodeId)
  }

  /** The same objects as before if nothing changed, so that the registry can compare them by identity. */
  screen(peer: UnscreenedPeerOffers): ScreenedOffers {
    const { store, maxOffers } = this.#parts
    const revision = `${this.#ownRevision} ${store.revision}`
    const last = this.#screened.get(peer.nodeId)
    if (last?.revision === revision && last.name === peer.name && last.capabilities === peer.capabilities) {
      // A note that was skipped because it came too soon is still due.
      this.#note(peer, last.screened)
      return last.screened
    }
    const screened = screenPeerOffers(peer, { own: this.#ownNames(revision), pins: store.pins(peer.nodeId), maxOffers })
    this.#screened.set(peer.nodeId, { name: peer.name, capabilities: peer.capabilities, revision, screened })
    void this.#pin(peer.nodeId, screened)
    this.#note(peer, screened)
    return screened
  }

  #ownNames(revision: string): PeerCapabilityNameCheck {
    const { bus, store } = this.#parts
    if (this.#own?.revision !== revision) {
      const offers = bus.registry.allLocal().map(({ offer }) => offer)
      const names = new PeerCapabilityNameCheck({
        offers,
        prefixes: bus.registry.reserved,
        hadPrefixes: store.prefixes,
      })
      this.#own = { revision, names }
    }
    return this.#own.names
  }

  /** No capability is offered before its pin is on the disk. */
  async #pin(nodeId: string, { unpinned }: ScreenedOffers): Promise<void> {
    if (unpinned.length === 0 || this.#pinning.has(nodeId)) return
    const { store, publish, logger } = this.#parts
    this.#pinning.add(nodeId)
    try {
      await store.pin(nodeId, unpinned)
    } catch (error) {
      // The node's next manifest causes the next attempt.
      this.#screened.delete(nodeId)
      logger.warn({ err: error, node: nodeId }, 'what a node offers could not be pinned')
      return
    } finally {
      this.#pinning.delete(nodeId)
    }
    publish(nodeId)
  }

  #note({ nodeId, name }: UnscreenedPeerOffers, { withheld }: ScreenedOffers): void {
    const { store, monotonic, logger } = this.#parts
    const noted = this.#noted.get(nodeId)
    if (noted?.withheld === withheld) return
    const [digest, nowMs] = [computeWithheldOffersDigest(withheld), monotonic()]
    const isSame = noted?.digest === digest
    if (noted !== undefined && !isSame && nowMs < noted.nextMs) return
    this.#noted.set(nodeId, {
      withheld,
      digest,
      nextMs: isSame ? noted.nextMs : withheld.length === 0 ? 0 : nowMs + NOTE_MS,
    })
    if (isSame) return
    if (withheld.length > 0)
      logger.warn(
        {
          node: sanitizeLine(name, 64),
          offers: withheld.slice(0, 8).map((offer) => offer.name),
          count: withheld.length,
        },
        'offers of a node are withheld until a person accepts them',
      )
    store.noteWithheld(nodeId, withheld).catch((error: unknown) => {
      logger.warn({ err: error, node: nodeId }, 'what is withheld of a node could not be stored')
    })
  }
}
