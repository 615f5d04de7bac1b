/** Foreign database write projection: the ledger's own rules about which entry may follow which. */
import type { Projection } from './projection.ts'

/**
 * Another program wrote into the database while the node ran. This stays on record, even after its changes were undone.
 */
export const FOREIGN_DATABASE_WRITE_KIND = 'database.written'

export const foreignDatabaseWriteProjection: Projection<undefined> = {
  name: 'ledger',
  initial: () => undefined,
  apply: {},
  check: { [FOREIGN_DATABASE_WRITE_KIND]: () => 'another program wrote to the database while the node ran' },
}
