/**
 * Ledger options: the database, the key and the files of one ledger, and what other modules compute from its entries.
 *
 * Pure.
 */
import type { Clock } from '../core/clock.ts'
import type { Database } from '../core/database-store.ts'
import type { EntryCacheDefinition } from './entry-cache-store.ts'
import type { LedgerPinFile } from './ledger-pin-store.ts'
import type { LogSigner } from './note-key.ts'
import type { StoredContentCheck, UntypedProjection } from './projection.ts'

export interface LedgerOptions {
  readonly database: Database
  /**
   * The signer's name is the origin. Entries that are not signed yet are authenticated with a secret derived from its
   * key.
   */
  readonly signer: LogSigner
  /** The log's name in its checkpoints, such as `hearthbus.local/attic`. */
  readonly origin: string
  /** Where the last signed checkpoint is stored a second time, outside the log. */
  readonly lastSignedPath: string
  /** The pin outside of the data directory, with what this node signed last; absent where none is kept. */
  readonly pin?: LedgerPinFile | undefined
  /** The directory of the log; by default `ledger` beside that file. */
  readonly directory?: string
  readonly clock: Clock
  /** How many entries a segment of the tail takes. */
  readonly segmentEntries?: number | undefined
  /**
   * The states that other modules decide from: computed from the log when it is opened, and updated with every entry.
   */
  readonly projections?: readonly UntypedProjection[]
  /** Audits of content that is stored beside the log, and whose hashes are in the log. */
  readonly contents?: readonly StoredContentCheck[]
  /** Tables of the same database that copy what entries say, and are written with them. */
  readonly caches?: readonly EntryCacheDefinition[]
}
