/**
 * Ledger: the node's one append-only log of events, and the proofs of what it says.
 *
 *   append ▸ canonical bytes ▸ entry row ▸ leaf in the tree ▸ (every 256 leaves) tile row ▸ COMMIT ▸ the caller hears
 *
 * It stores events and knows nothing of tools, principals or policy. Three kinds mean something to it: `call.enter`
 * opens a call, `call.exit` and `call.aborted` (field `call`, the enter's sequence number) end it, once.
 *
 * Reads and writes through its stores.
 */
import { randomFillSync } from 'node:crypto'
import type { Clock } from '../core/clock.ts'
import type { Database } from '../core/database-store.ts'
import type { Json } from '../core/json.ts'
import { bodyHash, encodeBody, SALT_BYTES } from './body.ts'
import { encodeEntry, isSequence } from './entry.ts'
import type { LedgerEvent } from './entry.ts'
import { LedgerRefuses, SOUND } from './fork.ts'
import type { LedgerState } from './fork.ts'
import { LedgerStore } from './ledger-store.ts'
import type { NoteSigner } from './note-key.ts'
import { StoredTree } from './stored-tree.ts'
import { leafHash } from './tree.ts'

export const CALL_ENTER = 'call.enter'
export const CALL_EXIT = 'call.exit'
export const CALL_ABORTED = 'call.aborted'

export interface LedgerOptions {
  readonly database: Database
  /** Named after the origin. */
  readonly signer: NoteSigner
  /** The log's name in its checkpoints, such as `hearthbus.local/attic`. */
  readonly origin: string
  /** Where the last signed checkpoint is kept a second time, outside the database. */
  readonly lastSignedPath: string
  readonly clock: Clock
}

/** What became of an event. */
export interface Appended {
  /** Its sequence number, which is its index in the tree. */
  readonly seq: number
  /** RFC 3339, UTC, milliseconds. */
  readonly at: string
  readonly leafHash: Uint8Array
}

export class Ledger {
  readonly #database: Database
  readonly #clock: Clock
  readonly #store: LedgerStore
  readonly #tree: StoredTree
  #state: LedgerState = SOUND

  private constructor(options: LedgerOptions) {
    this.#database = options.database
    this.#clock = options.clock
    this.#store = new LedgerStore(options.database.sql)
    this.#tree = new StoredTree(this.#store)
    options.database.follow(this.#tree.follower)
  }

  static async open(options: LedgerOptions): Promise<Ledger> {
    return new Ledger(options)
  }

  /** Resolves when the event is durable; shares the fsync with everything else that this turn wants to write. */
  append(event: LedgerEvent, body?: Json): Promise<Appended> {
    return this.#database.commit(() => this.appendIn(event, body))
  }

  /**
   * Appends inside a work given to `Database.commit`, so that a domain write and its event are one transaction. It is
   * durable when that commit resolves. What it throws must leave the work too, so that all of it is undone.
   */
  appendIn(event: LedgerEvent, body?: Json): Appended {
    if (this.#state.kind === 'refusing') throw new LedgerRefuses(this.#state.fault)
    if (!this.#store.inTransaction()) throw new Error('appendIn belongs inside Database.commit')
    const seq = this.#tree.size
    const at = new Date(this.#clock.now()).toISOString()
    const kept = body === undefined ? undefined : commitTo(body)
    const bytes = encodeEntry(event, { seq, at, bodyHash: kept?.hash })
    const closes = closedCall(event)
    if (closes !== null && !this.#store.closeCall(closes)) throw new RangeError(`call ${closes} is not open`)
    this.#store.putEntry({ seq, kind: event.kind, closes, bytes })
    if (event.kind === CALL_ENTER) this.#store.openCall(seq)
    if (kept !== undefined) this.#store.putBody({ seq, salt: kept.salt, body: kept.bytes })
    const leaf = leafHash(bytes)
    this.#tree.append(leaf)
    return { seq, at, leafHash: leaf }
  }

  /** Sound, or refusing appends and signatures, with the reason. */
  state(): LedgerState {
    return this.#state
  }

  /** Entries so far; inside a work it counts those not yet durable. */
  size(): number {
    return this.#tree.size
  }

  root(): Uint8Array {
    return this.#tree.root()
  }
}

function commitTo(body: Json): { readonly salt: Uint8Array; readonly bytes: Uint8Array; readonly hash: string } {
  const salt = randomFillSync(new Uint8Array(SALT_BYTES))
  const bytes = encodeBody(body)
  return { salt, bytes, hash: bodyHash(salt, bytes) }
}

/** Throws when an event that ends a call does not say which. */
function closedCall(event: LedgerEvent): number | null {
  if (event.kind !== CALL_EXIT && event.kind !== CALL_ABORTED) return null
  if (!isSequence(event['call'])) throw new TypeError(`${event.kind} names no call`)
  return event['call']
}
