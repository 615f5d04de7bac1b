/**
 * Replaced file detector: detects that another program puts other content into a file that the owner's commands trust,
 * while the node runs: the owner's token, and the note that says where the gateway listens. With both, commands would
 * talk to that program. The gateway itself reads neither again; the fact is recorded, and every verification reports it.
 *
 * Reads the files.
 */
import { readBoundedFile } from '../core/bounded-file-store.ts'
import type { Logger } from '../core/logger.ts'
import { FOREIGN_FILE_WRITE_KIND } from '../ledger/foreign-database-write-projection.ts'
import type { Ledger } from '../ledger/ledger.ts'

export interface WatchedFile {
  readonly path: string
  /** What the log calls it. */
  readonly name: string
  readonly isOwn: (content: string) => boolean
}

const MAX_BYTES = 65_536

/** To be called periodically, and, with `before-stop`, before the last entry: then nothing is verified any more. */
export type ReplacedFileDetector = (when?: 'before-stop') => Promise<void>

export function createReplacedFileDetector(options: {
  readonly files: readonly WatchedFile[]
  readonly ledger: Ledger
  readonly logger: Logger
}): ReplacedFileDetector {
  const { files, ledger, logger } = options
  /** The foreign content that is on record, by file. */
  const recorded = new Map<string, string>()
  return async (when) => {
    for (const { path, name, isOwn } of files) {
      const content = readIfUsable(path)
      if (content === undefined || isOwn(content)) recorded.delete(path)
      else if (recorded.get(path) !== content) {
        logger.error({ path }, 'another program replaced a file that the owner’s commands trust')
        // At once, so that of two calls at the same time one records it.
        recorded.set(path, content)
        try {
          await ledger.append({ kind: FOREIGN_FILE_WRITE_KIND, file: name })
        } catch (error) {
          recorded.delete(path)
          throw error
        }
        if (when === undefined) await ledger.verify()
      }
    }
  }
}

/** A file that is gone, or cannot be read, leads no command anywhere. */
function readIfUsable(path: string): string | undefined {
  try {
    return readBoundedFile(path, MAX_BYTES).toString()
  } catch {
    return undefined
  }
}
