/**
 * Peer address store: the last addresses and names of other nodes, for the next start.
 */
import type { Database } from '../../core/database-store.ts'
import { parseJsonOrUndefined } from '../../core/json.ts'

export interface StoredPeer {
  readonly nodeId: string
  /** `host:port`. */
  readonly addresses: readonly string[]
  /** The node's own name for itself; `undefined` if it was not received yet. */
  readonly name?: string | undefined
}

const MAX_REMEMBERED = 256

export class PeerAddressStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async save(peers: readonly StoredPeer[], nowMs: number): Promise<void> {
    if (peers.length === 0) return
    await this.#database.commit((sql) => {
      const put = sql.prepare('INSERT OR REPLACE INTO peer VALUES (?, ?, ?, ?)')
      for (const { nodeId, addresses, name } of peers) put.run(nodeId, JSON.stringify(addresses), nowMs, name ?? null)
      sql
        .prepare('DELETE FROM peer WHERE node_id NOT IN (SELECT node_id FROM peer ORDER BY seen_at_ms DESC LIMIT ?)')
        .run(MAX_REMEMBERED)
    })
  }

  /** The node that was seen last comes first. */
  list(): readonly StoredPeer[] {
    return this.#database.sql
      .prepare('SELECT node_id, addresses, name FROM peer ORDER BY seen_at_ms DESC')
      .all()
      .map(({ node_id: nodeId, addresses, name }) => ({
        nodeId: String(nodeId),
        addresses: parseAddressList(String(addresses)),
        name: typeof name === 'string' ? name : undefined,
      }))
  }
}

/** Returns none for a text that another program wrote; the addresses will be discovered again. */
export function parseAddressList(text: string): readonly string[] {
  const list = parseJsonOrUndefined(text)
  return Array.isArray(list) ? list.filter((address) => typeof address === 'string') : []
}
