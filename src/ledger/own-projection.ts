/**
 * Own projection: what the ledger itself has to say about the succession of entries, whatever else is recorded.
 */
import type { Projection } from './projection.ts'

/** Another program wrote into the database while the node ran: a fact for ever, whatever became of what it wrote. */
export const DATABASE_WRITTEN_KIND = 'database.written'

export const ledgerProjection: Projection<undefined> = {
  name: 'ledger',
  initial: () => undefined,
  apply: {},
  check: { [DATABASE_WRITTEN_KIND]: () => 'another program wrote into the database while the node ran' },
}
