/** Foreign database write projection: the ledger's own rules about which entry may follow which. */
import { readEntryTextField } from './entry.ts'
import type { Projection } from './projection.ts'

/**
 * Another program wrote into the database while the node ran. This stays on record, even after its changes were undone.
 */
export const FOREIGN_DATABASE_WRITE_KIND = 'database.written'

/** Another program put other content into a file that the owner's commands trust. */
export const FOREIGN_FILE_WRITE_KIND = 'file.replaced'

export const foreignDatabaseWriteProjection: Projection<undefined> = {
  name: 'ledger',
  initial: () => undefined,
  apply: {},
  check: {
    [FOREIGN_DATABASE_WRITE_KIND]: () => 'another program wrote to the database while the node ran',
    [FOREIGN_FILE_WRITE_KIND]: (_, entry) =>
      `another program replaced ${readEntryTextField(entry, 'file') ?? 'a file'} while the node ran`,
  },
}
