/**
 * mDNS adapter: the announcement of an eBUS adapter on the local network, and the choice among several.
 *
 *   _ebusd._tcp   TXT id=0123456789ab proto=ens   SRV port 9999
 */
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'

export const ADAPTER_MDNS_SERVICE = 'ebusd'

export interface MdnsAdapter {
  /** Twelve digits, printed on the adapter's own page. */
  readonly id: string
  readonly host: string
  readonly port: number
}

/** The relevant part of what the mDNS browser returns; it is untrusted. */
export interface MdnsAnnouncement {
  readonly txt?: unknown
  readonly addresses?: readonly string[] | undefined
  readonly port: number
}

const ID = /^[0-9a-f]{12}$/i
/** Both are the enhanced protocol, with different speeds of a serial line, which do not matter on a network. */
const PROTOCOLS: ReadonlySet<string> = new Set(['enh', 'ens'])

/** Returns `undefined` for anything but an adapter with the enhanced protocol. */
export function parseMdnsAdapter({ txt, addresses = [], port }: MdnsAnnouncement): MdnsAdapter | undefined {
  if (typeof txt !== 'object' || txt === null) return undefined
  const { id, proto } = txt as Readonly<Record<string, unknown>>
  const host = addresses.find((address) => /^\d+\.\d+\.\d+\.\d+$/.test(address)) ?? addresses[0]
  if (typeof id !== 'string' || !ID.test(id) || host === undefined) return undefined
  if (typeof proto !== 'string' || !PROTOCOLS.has(proto.toLowerCase())) return undefined
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return undefined
  return { id: id.toLowerCase(), host, port }
}

/** If there are several and no id is configured, the owner has to choose: one may be the neighbour's. */
export function chooseMdnsAdapter(found: readonly MdnsAdapter[], id: string | undefined): Result<MdnsAdapter, string> {
  const [first, ...others] = found.filter((adapter) => id === undefined || adapter.id === id.toLowerCase())
  if (first === undefined)
    return fail(
      found.length === 0
        ? 'no adapter has announced itself by mDNS'
        : `no adapter with that id has announced itself; there are ${found.map((adapter) => `mdns:${adapter.id}`).join(', ')}`,
    )
  if (others.some((adapter) => adapter.id !== first.id))
    return fail(`several adapters announce themselves; write which: ${listOf([first, ...others])}`)
  return ok(first)
}

function listOf(adapters: readonly MdnsAdapter[]): string {
  return [...new Set(adapters.map(({ id }) => `mdns:${id}`))].join(' or ')
}
