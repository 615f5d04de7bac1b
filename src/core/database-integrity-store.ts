/**
 * Database integrity: whether the indexes of a file agree with its tables. A program that writes into the file can
 * leave a table as it was and take rows out of an index: every list that is read through that index then lacks them.
 *
 * It reads the whole file: a large one in a thread of its own, so that a node that verifies itself goes on answering.
 */
import { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'

const MAX_DEFECTS = 64

/** A file of this size is read in less time than a thread takes to start. */
const MAX_BYTES_AT_ONCE = 1 << 19

/** Also the source of what the thread runs: it names nothing outside of it. */
function readDefects(database: DatabaseSync, max: number): readonly string[] {
  const rows = database.prepare(`PRAGMA integrity_check(${max})`).all()
  return rows.map((row) => String(row['integrity_check'])).filter((line) => line !== 'ok')
}

const CHECK = `
  const { parentPort, workerData } = require('node:worker_threads')
  const { DatabaseSync } = require('node:sqlite')
  const database = new DatabaseSync(workerData.path, { readOnly: true })
  database.exec('PRAGMA busy_timeout = 5000')
  const defects = (${readDefects.toString()})(database, ${MAX_DEFECTS})
  database.close()
  parentPort.postMessage(defects)
`

/** What SQLite says is wrong; empty for a sound file. Rejects where the file cannot be read at all. */
export async function findDatabaseDefects(path: string): Promise<readonly string[]> {
  return findDefectsAtOnce(path) ?? findDefectsInThread(path)
}

/** `undefined` for a large file, and for one that cannot be read at the moment. */
function findDefectsAtOnce(path: string): readonly string[] | undefined {
  try {
    const database = new DatabaseSync(path, { readOnly: true })
    try {
      const size = database.prepare('SELECT page_count * page_size AS size FROM pragma_page_count, pragma_page_size')
      return Number(size.get()?.['size']) > MAX_BYTES_AT_ONCE ? undefined : readDefects(database, MAX_DEFECTS)
    } finally {
      database.close()
    }
  } catch {
    // A thread can wait for who has locked it, and says what is wrong with it.
    return undefined
  }
}

function findDefectsInThread(path: string): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(CHECK, { eval: true, workerData: { path } })
    worker.once('message', resolve)
    worker.once('error', reject)
    worker.once('exit', () => reject(new Error(`the check of ${path} ended without a result`)))
  })
}
