/**
 * Offer pin store: the pinned offers of other nodes, so that a change is noticed; and the families that this node has
 * had. Both are in the node's log only (offer-pin-log.ts). Through the database, the gateway tells commands what is
 * withheld, and commands tell the gateway what a person accepted:
 *
 *   gateway ─▶ offer_withheld ─▶ hearthbus mesh offers · accept ─▶ offer_acceptance ─▶ gateway ─▶ log
 *
 * Every row is sealed: a person is shown the text that the gateway wrote, and no other program can accept.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Database } from '../../core/database-store.ts'
import { newUlid } from '../../core/ids.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import { computeWithheldOffersDigest } from '../offer-pin.ts'
import type { OfferDefinitionHash, OfferPins, WithheldOffer } from '../offer-pin.ts'
import { MAX_PINS_PER_ENTRY } from './offer-pin-log.ts'
import type { PeerOfferAcceptance, OfferPinLog } from './offer-pin-log.ts'
import type { RowMacAuthenticator } from './row-mac-authenticator.ts'

export const CREATE_OFFER_TABLES_SQL = `
  CREATE TABLE offer_pin (
    node_id TEXT NOT NULL, capability TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (node_id, capability)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE offer_withheld (
    node_id TEXT NOT NULL, capability TEXT NOT NULL, hash TEXT NOT NULL, shown TEXT NOT NULL,
    PRIMARY KEY (node_id, capability)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE own_prefix (prefix TEXT PRIMARY KEY) STRICT, WITHOUT ROWID`

/** What decides went to the log. */
export const REPLACE_OFFER_TABLES_SQL = `
  DROP TABLE offer_pin;
  DROP TABLE own_prefix;
  DROP TABLE offer_withheld;
  CREATE TABLE offer_withheld (
    node_id TEXT PRIMARY KEY, shown TEXT NOT NULL, seal BLOB NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE offer_acceptance (
    id TEXT PRIMARY KEY, node_id TEXT NOT NULL, accepted TEXT NOT NULL, seal BLOB NOT NULL
  ) STRICT, WITHOUT ROWID`

const NO_PINS: OfferPins = new Map()

export interface OfferPinStoreDependencies {
  readonly database: Pick<Database, 'sql' | 'commit'>
  readonly seal: RowMacAuthenticator
  /** Absent for a command beside the gateway, which pins nothing. */
  readonly log?: OfferPinLog | undefined
  /** Records that a program without this node's key wrote into the store. */
  readonly altered?: () => Promise<void>
}

export class OfferPinStore {
  readonly #parts: OfferPinStoreDependencies
  /** Node id → what the gateway, which alone writes it, noted as withheld. */
  #noted: ReadonlyMap<string, string>
  /** Pins that are being written to the log. */
  readonly #beingStored = new Set<string>()
  #taking: Promise<void> = Promise.resolve()
  /** Changes whenever something here has changed. */
  revision = 0

  constructor(parts: OfferPinStoreDependencies) {
    this.#parts = parts
    this.#noted = this.#sealedNotes()
  }

  pins(nodeId: string): OfferPins {
    return this.#parts.log?.pins(nodeId) ?? NO_PINS
  }

  async pin(nodeId: string, definitions: readonly OfferDefinitionHash[]): Promise<void> {
    await this.#writableLog().pin(nodeId, definitions)
    this.revision++
  }

  async noteWithheld(nodeId: string, withheld: readonly WithheldOffer[]): Promise<void> {
    await this.#write((sql) => this.#note(sql, nodeId, withheld))
  }

  /** The withheld offers, without those that a person has accepted meanwhile. */
  withheld(nodeId: string): readonly WithheldOffer[] {
    const { sql } = this.#parts.database
    const row = sql.prepare('SELECT shown, seal FROM offer_withheld WHERE node_id = ?').get(nodeId)
    if (row === undefined || !this.#isNoteSealed(nodeId, row)) return []
    const accepted = this.#acceptances().acceptances.flatMap((each) => (each.nodeId === nodeId ? each.offers : []))
    return without(readOffers(String(row['shown'])), accepted)
  }

  /** Accepts what was shown, and nothing that was offered later; returns the names. */
  async accept(nodeId: string, digest: string | undefined): Promise<Result<readonly string[], 'nothing' | 'other'>> {
    const { database, seal } = this.#parts
    return database.commit((sql): Result<readonly string[], 'nothing' | 'other'> => {
      const withheld = this.withheld(nodeId)
      if (withheld.length === 0) return fail('nothing')
      const shown = computeWithheldOffersDigest(withheld)
      if (digest !== undefined && digest !== shown) return fail('other')
      const put = sql.prepare('INSERT INTO offer_acceptance VALUES (?, ?, ?, ?)')
      for (let from = 0; from < withheld.length; from += MAX_PINS_PER_ENTRY) {
        const id = newUlid()
        const offers = withheld.slice(from, from + MAX_PINS_PER_ENTRY)
        const accepted = JSON.stringify({ digest: shown, offers })
        put.run(id, nodeId, accepted, seal.create(toAcceptanceFacts(id, nodeId, accepted)))
      }
      return ok(withheld.map(({ name }) => name))
    })
  }

  /**
   * Runs when another process has written: a command with an acceptance, or a program that may not write. Calls run one
   * after the other.
   */
  takeAcceptances(): Promise<void> {
    return (this.#taking = this.#taking.catch(() => undefined).then(() => this.#takeAcceptances()))
  }

  get prefixes(): ReadonlySet<string> {
    return new Set([...(this.#parts.log?.prefixes() ?? []), ...this.#beingStored])
  }

  /** Records the prefixes of the families that this node has now. */
  async keepPrefixes(prefixes: Iterable<string>): Promise<void> {
    const known = this.prefixes
    const fresh = [...prefixes].filter((prefix) => !known.has(prefix))
    if (fresh.length === 0) return
    for (const prefix of fresh) this.#beingStored.add(prefix)
    this.revision++
    try {
      await this.#writableLog().keepPrefixes(fresh)
    } finally {
      for (const prefix of fresh) this.#beingStored.delete(prefix)
    }
  }

  /** Rows without this node's seal: ids of nodes, and of acceptances. */
  listForeignRows(): { readonly notes: readonly string[]; readonly acceptances: readonly string[] } {
    const notes = this.#noteRows().filter((row) => !this.#isNoteSealed(String(row['node_id']), row))
    return { notes: notes.map((row) => String(row['node_id'])), acceptances: this.#acceptances().foreign }
  }

  async #takeAcceptances(): Promise<void> {
    const { log, altered } = this.#parts
    if (log === undefined) return
    const { acceptances, foreign } = this.#acceptances()
    const isAltered = foreign.length > 0 || !this.#areNotesOwn()
    if (isAltered) {
      await altered?.()
      await this.#write((sql) => {
        for (const id of foreign) sql.prepare('DELETE FROM offer_acceptance WHERE id = ?').run(id)
        sql.exec('DELETE FROM offer_withheld')
        for (const [nodeId, shown] of this.#noted) this.#note(sql, nodeId, readOffers(shown))
      })
    }
    for (const acceptance of acceptances) {
      const { id, nodeId, offers } = acceptance
      // An acceptance that somebody restored, or whose row survived a crash, cannot be used again.
      if (!log.isTaken(id)) await log.accept(acceptance)
      await this.#write((sql) => {
        sql.prepare('DELETE FROM offer_acceptance WHERE id = ?').run(id)
        this.#note(sql, nodeId, without(readOffers(this.#noted.get(nodeId) ?? '[]'), offers))
      })
    }
    if (acceptances.length > 0) this.revision++
  }

  /** The notes are updated while the work runs, so that they always equal what the tables contain. */
  async #write(work: (sql: DatabaseSync) => void): Promise<void> {
    try {
      await this.#parts.database.commit(work)
    } catch (error) {
      this.#noted = this.#sealedNotes()
      throw error
    }
  }

  #note(sql: DatabaseSync, nodeId: string, withheld: readonly WithheldOffer[]): void {
    const noted = new Map(this.#noted)
    sql.prepare('DELETE FROM offer_withheld WHERE node_id = ?').run(nodeId)
    noted.delete(nodeId)
    if (withheld.length > 0) {
      const shown = JSON.stringify(withheld)
      const seal = this.#parts.seal.create(toNoteFacts(nodeId, shown))
      sql.prepare('INSERT INTO offer_withheld VALUES (?, ?, ?)').run(nodeId, shown, seal)
      noted.set(nodeId, shown)
    }
    this.#noted = noted
  }

  #areNotesOwn(): boolean {
    const rows = this.#noteRows()
    return rows.length === this.#noted.size && rows.every((row) => this.#isNoted(row))
  }

  #isNoted(row: Row): boolean {
    const nodeId = String(row['node_id'])
    return this.#noted.get(nodeId) === row['shown'] && this.#isNoteSealed(nodeId, row)
  }

  #sealedNotes(): ReadonlyMap<string, string> {
    const rows = this.#noteRows().filter((row) => this.#isNoteSealed(String(row['node_id']), row))
    return new Map(rows.map((row) => [String(row['node_id']), String(row['shown'])]))
  }

  #noteRows(): readonly Row[] {
    return this.#parts.database.sql.prepare('SELECT * FROM offer_withheld').all()
  }

  #isNoteSealed(nodeId: string, { shown, seal }: Row): boolean {
    return this.#parts.seal.isValid(toNoteFacts(nodeId, String(shown)), seal)
  }

  #acceptances(): { readonly acceptances: readonly PeerOfferAcceptance[]; readonly foreign: readonly string[] } {
    const acceptances: PeerOfferAcceptance[] = []
    const foreign: string[] = []
    for (const row of this.#parts.database.sql.prepare('SELECT * FROM offer_acceptance ORDER BY id').all()) {
      const [id, nodeId, accepted] = [String(row['id']), String(row['node_id']), String(row['accepted'])]
      if (this.#parts.seal.isValid(toAcceptanceFacts(id, nodeId, accepted), row['seal']))
        acceptances.push({ id, nodeId, ...(JSON.parse(accepted) as Pick<PeerOfferAcceptance, 'digest' | 'offers'>) })
      else foreign.push(id)
    }
    return { acceptances, foreign }
  }

  #writableLog(): OfferPinLog {
    const { log } = this.#parts
    if (log === undefined) throw new Error('only the gateway pins offers')
    return log
  }
}

type Row = Readonly<Record<string, unknown>>

function toNoteFacts(nodeId: string, shown: string): readonly string[] {
  return ['offer_withheld', nodeId, shown]
}

function toAcceptanceFacts(id: string, nodeId: string, accepted: string): readonly string[] {
  return ['offer_acceptance', id, nodeId, accepted]
}

/** The row's seal was verified, so this node wrote its content. */
function readOffers(shown: string): readonly WithheldOffer[] {
  return JSON.parse(shown) as WithheldOffer[]
}

function without(offers: readonly WithheldOffer[], accepted: readonly OfferDefinitionHash[]): readonly WithheldOffer[] {
  return offers.filter(({ key, hash }) => !accepted.some((each) => each.key === key && each.hash === hash))
}
