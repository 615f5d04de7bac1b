/**
 * Database integrity: whether the indexes of a file agree with its tables. Who writes into the file can leave a table as
 * it was and take rows out of an index: every list that is read through that index then lacks them.
 *
 * It reads the whole file, in a thread of its own, so that a node that verifies itself goes on answering.
 */
import { Worker } from 'node:worker_threads'

const MAX_DEFECTS = 64

const CHECK = `
  const { parentPort, workerData } = require('node:worker_threads')
  const { DatabaseSync } = require('node:sqlite')
  const database = new DatabaseSync(workerData.path, { readOnly: true })
  database.exec('PRAGMA busy_timeout = 5000')
  const rows = database.prepare('PRAGMA integrity_check(${MAX_DEFECTS})').all()
  database.close()
  parentPort.postMessage(rows.map((row) => String(row.integrity_check)))
`

/** What SQLite says is wrong; empty for a sound file. Rejects where the file cannot be read at all. */
export function findDatabaseDefects(path: string): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(CHECK, { eval: true, workerData: { path } })
    worker.once('message', (lines: readonly string[]) => resolve(lines.filter((line) => line !== 'ok')))
    worker.once('error', reject)
    worker.once('exit', () => reject(new Error(`the check of ${path} ended without a result`)))
  })
}
