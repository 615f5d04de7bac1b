/**
 * Peer source: where news of other nodes comes from. A list in the configuration, the local network, a registry: each
 * only gives hints. What a hint says is believed when the node itself has proven it.
 */
import type { JsonObject } from '../../core/json.ts'
import type { OwnManifest } from '../own-manifest.ts'
import type { PeerEndpoint } from '../transport.ts'

export type PeerSighting =
  /** Somebody may be there. */
  | { readonly kind: 'address'; readonly host: string; readonly port: number; readonly nodeId?: string | undefined }
  /** A manifest, in either form, and how its author can be reached. */
  | { readonly kind: 'manifest'; readonly manifest: JsonObject; readonly endpoint: PeerEndpoint }
  | { readonly kind: 'capabilities'; readonly nodeId: string; readonly hash: string; readonly capabilities: unknown }
  | { readonly kind: 'community'; readonly document: JsonObject }

export interface PeerSource {
  readonly name: string
  readonly start: (hear: (hint: PeerSighting) => void) => Promise<void>
  /** Our own newest manifest, for sources that make it known. */
  readonly publish: (own: OwnManifest, community: JsonObject) => void
  /** This machine has other addresses than before, and so may everybody else. */
  readonly moved?: () => void
  readonly stop: (goodbye: OwnManifest | undefined) => Promise<void>
}

/** `host:port`, `[v6]:port`. */
export function parsePeerAddress(text: string): { readonly host: string; readonly port: number } | undefined {
  const found = /^(?:\[([0-9A-Fa-f:.]{2,45}(?:%[\w.-]{1,32})?)\]|([^\s:/[\]]{1,253})):(\d{1,5})$/.exec(text)
  const [host, port] = [found?.[1] ?? found?.[2], Number(found?.[3])]
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port }
}

export function formatPeerAddress(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

export const STATIC_PEER_SOURCE_NAME = 'static'

/** Nodes that the owner named. */
export function createStaticPeerSource(addresses: readonly string[]): PeerSource {
  return {
    name: STATIC_PEER_SOURCE_NAME,
    start: async (hear) => {
      for (const text of addresses) {
        const address = parsePeerAddress(text)
        if (address !== undefined) hear({ kind: 'address', ...address })
      }
    },
    publish: () => undefined,
    stop: async () => undefined,
  }
}
