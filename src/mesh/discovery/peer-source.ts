/**
 * Peer source: where this node learns of other nodes: from a list in the configuration, from the local network, or from
 * a registry. A source only gives hints, which are verified with the node itself.
 */
import type { JsonObject } from '../../core/json.ts'
import type { FullAndSlimOwnManifest } from '../own-manifest.ts'
import type { PeerEndpoint } from '../transport.ts'

export type PeerDiscoveryHint =
  /** There may be a node at this address. */
  | { readonly kind: 'address'; readonly host: string; readonly port: number; readonly nodeId?: string | undefined }
  /** A manifest, in either form, and how its author can be reached. */
  | { readonly kind: 'manifest'; readonly manifest: JsonObject; readonly endpoint: PeerEndpoint }
  | { readonly kind: 'capabilities'; readonly nodeId: string; readonly hash: string; readonly capabilities: unknown }
  | { readonly kind: 'community'; readonly document: JsonObject }

export interface PeerSource {
  readonly name: string
  readonly start: (receive: (hint: PeerDiscoveryHint) => void) => Promise<void>
  /** Publishes our own newest manifest, in sources that publish manifests. */
  readonly publish: (own: FullAndSlimOwnManifest, community: JsonObject) => void
  /** Called when this machine has new addresses, because others may have new ones, too. */
  readonly moved?: () => void
  readonly stop: (goodbye: FullAndSlimOwnManifest | undefined) => Promise<void>
}

/** Parses `host:port` or `[v6]:port`. */
export function parseHostPort(text: string): { readonly host: string; readonly port: number } | undefined {
  const found = /^(?:\[([0-9A-Fa-f:.]{2,45}(?:%[\w.-]{1,32})?)\]|([^\s:/[\]]{1,253})):(\d{1,5})$/.exec(text)
  const [host, port] = [found?.[1] ?? found?.[2], Number(found?.[3])]
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port }
}

export function formatHostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

export const STATIC_PEER_SOURCE_NAME = 'static'

/** The source of nodes that the owner configured. */
export function createStaticPeerSource(addresses: readonly string[]): PeerSource {
  return {
    name: STATIC_PEER_SOURCE_NAME,
    start: async (receive) => {
      for (const text of addresses) {
        const address = parseHostPort(text)
        if (address !== undefined) receive({ kind: 'address', ...address })
      }
    },
    publish: () => undefined,
    stop: async () => undefined,
  }
}
