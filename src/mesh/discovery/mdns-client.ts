/**
 * mDNS client: finds other nodes on the local network, and announces this one (`_hearthbus._tcp`).
 */
import type { Bonjour, Browser, Service } from 'bonjour-service'
import type { Logger } from '../../core/logger.ts'
import { openBonjour } from '../../toolbox/bonjour-client.ts'
import { createAnnouncementTxtRecord, parseAnnouncementTxtRecord, MDNS_SERVICE_TYPE } from './announcement.ts'
import type { PeerSource } from './peer-source.ts'

export interface MdnsOptions {
  readonly nodeId: string
  readonly name: string
  readonly communityId: () => string | undefined
  /** The port of the mesh listener, once it listens. */
  readonly port: () => number
  readonly logger: Logger
}

const MAX_ADDRESSES = 8

export function createMdnsPeerSource(options: MdnsOptions): PeerSource {
  const { nodeId, name, communityId, port, logger } = options
  let bonjour: Bonjour | undefined
  let browser: Browser | undefined
  let receiveAll: (service: Service) => void = () => undefined
  const open = (): void => {
    // Without multicast no nodes can be found here. This is logged, and the other peer sources continue.
    bonjour = openBonjour({ onError: (error) => logger.warn({ err: error }, 'mDNS is not possible on this network') })
    browser = bonjour.find({ type: MDNS_SERVICE_TYPE }, (service) => receiveAll(service))
  }
  let announced: { readonly service: Service; readonly community: string } | undefined
  return {
    name: 'mdns',
    start: async (receive) => {
      receiveAll = (service) => {
        const community = communityId()
        const found = community === undefined ? undefined : parseAnnouncementTxtRecord(service.txt, community)
        if (found === undefined || found === nodeId) return
        for (const host of addressesOf(service)) receive({ kind: 'address', host, port: service.port, nodeId: found })
      }
      open()
    },
    publish: () => {
      const community = communityId()
      if (bonjour === undefined || community === undefined || announced?.community === community) return
      announced?.service.stop?.(() => undefined)
      const service = bonjour.publish({
        name: `${name}-${nodeId.slice(-4)}`,
        type: MDNS_SERVICE_TYPE,
        port: port(),
        txt: createAnnouncementTxtRecord(nodeId, community),
      })
      announced = { service, community }
      // Nodes announce themselves only once; those that did so before this node joined the community are still in the
      // list.
      for (const service of browser?.services ?? []) receiveAll(service)
    },
    // Announcement and search begin again: the announcement contains the old addresses, and known nodes would not be
    // reported again.
    moved: () => {
      if (bonjour === undefined) return
      browser?.stop()
      bonjour.destroy()
      announced = undefined
      open()
    },
    stop: async () => {
      browser?.stop()
      const { promise, resolve } = Promise.withResolvers<void>()
      if (bonjour === undefined) return
      // A network without multicast must not delay the stop.
      const impatience = setTimeout(resolve, 500)
      bonjour.unpublishAll(() => resolve())
      await promise
      clearTimeout(impatience)
      bonjour.destroy()
    },
  }
}

/** The address that the announcement came from is first, because it can certainly be reached. */
function addressesOf({ referer, addresses }: Service): readonly string[] {
  const all = [referer?.address, ...(addresses ?? [])].filter((address) => address !== undefined && isUsable(address))
  return [...new Set(all as string[])].slice(0, MAX_ADDRESSES)
}

/** A link-local IPv6 address is useless without its interface. */
function isUsable(address: string): boolean {
  return !address.toLowerCase().startsWith('fe80:')
}
