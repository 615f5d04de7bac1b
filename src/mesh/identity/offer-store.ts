/**
 * Offer store: what other nodes were seen to offer, so that a change is noticed; and which families this node has had.
 *
 *   offer_pin        the definition of each capability of each node that was seen first, or that a person accepted
 *   offer_withheld   what differs from its pin now, as the gateway last noted it, for a person to look at
 *   own_prefix       prefixes of families that this node has or had
 *
 * Pins are held in memory: every manifest is compared with them.
 */
import type { Database } from '../../core/database-store.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import { computeWithheldOffersDigest } from '../offer-pin.ts'
import type { OfferDefinitionHash, OfferPins, WithheldOffer } from '../offer-pin.ts'

export const OFFER_TABLES_SQL = `
  CREATE TABLE offer_pin (
    node_id TEXT NOT NULL, capability TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (node_id, capability)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE offer_withheld (
    node_id TEXT NOT NULL, capability TEXT NOT NULL, hash TEXT NOT NULL, shown TEXT NOT NULL,
    PRIMARY KEY (node_id, capability)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE own_prefix (prefix TEXT PRIMARY KEY) STRICT, WITHOUT ROWID`

const NO_PINS: OfferPins = new Map()

export class OfferStore {
  readonly #database: Database
  #pins = new Map<string, Map<string, string>>()
  #prefixes = new Set<string>()
  /** Another number whenever something here has changed. */
  revision = 0

  constructor(database: Database) {
    this.#database = database
    this.reload()
  }

  /** Another process may have written. */
  reload(): void {
    const { sql } = this.#database
    this.#pins = new Map()
    for (const { node_id: nodeId, capability, hash } of sql.prepare('SELECT * FROM offer_pin').all())
      this.#keep(String(nodeId), { key: String(capability), hash: String(hash) })
    this.#prefixes = new Set(
      sql
        .prepare('SELECT prefix FROM own_prefix')
        .all()
        .map(({ prefix }) => String(prefix)),
    )
    this.revision++
  }

  pins(nodeId: string): OfferPins {
    return this.#pins.get(nodeId) ?? NO_PINS
  }

  async pin(nodeId: string, definitions: readonly OfferDefinitionHash[]): Promise<void> {
    await this.#database.commit((sql) => {
      const put = sql.prepare('INSERT OR IGNORE INTO offer_pin VALUES (?, ?, ?)')
      for (const { key, hash } of definitions) put.run(nodeId, key, hash)
    })
    for (const definition of definitions) this.#keep(nodeId, definition)
    this.revision++
  }

  async noteWithheld(nodeId: string, withheld: readonly WithheldOffer[]): Promise<void> {
    await this.#database.commit((sql) => {
      sql.prepare('DELETE FROM offer_withheld WHERE node_id = ?').run(nodeId)
      const put = sql.prepare('INSERT OR REPLACE INTO offer_withheld VALUES (?, ?, ?, ?)')
      for (const offer of withheld) put.run(nodeId, offer.key, offer.hash, JSON.stringify(offer))
    })
  }

  withheld(nodeId: string): readonly WithheldOffer[] {
    return this.#database.sql
      .prepare('SELECT shown FROM offer_withheld WHERE node_id = ?')
      .all(nodeId)
      .map(({ shown }) => JSON.parse(String(shown)) as WithheldOffer)
  }

  /** Takes what was looked at, and nothing that came after; the names of it. */
  async accept(nodeId: string, digest: string | undefined): Promise<Result<readonly string[], 'nothing' | 'other'>> {
    const accepted = await this.#database.commit((sql): Result<readonly WithheldOffer[], 'nothing' | 'other'> => {
      const withheld = this.withheld(nodeId)
      if (withheld.length === 0) return fail('nothing')
      if (digest !== undefined && digest !== computeWithheldOffersDigest(withheld)) return fail('other')
      const put = sql.prepare('INSERT OR REPLACE INTO offer_pin VALUES (?, ?, ?)')
      for (const { key, hash } of withheld) put.run(nodeId, key, hash)
      sql.prepare('DELETE FROM offer_withheld WHERE node_id = ?').run(nodeId)
      return ok(withheld)
    })
    if (!accepted.ok) return accepted
    for (const definition of accepted.value) this.#keep(nodeId, definition)
    this.revision++
    return ok(accepted.value.map(({ name }) => name))
  }

  get prefixes(): ReadonlySet<string> {
    return this.#prefixes
  }

  /** Prefixes of families that this node has now. */
  async keepPrefixes(prefixes: Iterable<string>): Promise<void> {
    const fresh = [...prefixes].filter((prefix) => !this.#prefixes.has(prefix))
    if (fresh.length === 0) return
    for (const prefix of fresh) this.#prefixes.add(prefix)
    this.revision++
    await this.#database.commit((sql) => {
      const put = sql.prepare('INSERT OR IGNORE INTO own_prefix VALUES (?)')
      for (const prefix of fresh) put.run(prefix)
    })
  }

  #keep(nodeId: string, { key, hash }: OfferDefinitionHash): void {
    const pins = this.#pins.get(nodeId) ?? new Map<string, string>()
    this.#pins.set(nodeId, pins.set(key, hash))
  }
}
