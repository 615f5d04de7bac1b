/**
 * Trail table comparison: the tables of tasks and sessions that a trail is about, held against what the log says of
 * them.
 *
 * Reads through what it is given.
 */
import { EntryCacheVerification } from '../../ledger/entry-cache-store.ts'
import { LedgerFindings, formatLedgerFinding } from '../../ledger/ledger-finding.ts'
import type { CacheFinding } from '../../ledger/ledger-finding.ts'
import type { RuntimeRecordDependencies } from '../runtime-dependencies.ts'
import { runtimeEntryTables } from '../runtime-cache-store.ts'
import type { ThoughtTrailStores } from './thought-recording.ts'

export interface TrailTablesReport {
  /** The first sessions and tasks whose rows differ from the log. */
  readonly brokenSessions: readonly string[]
  readonly brokenTasks: readonly string[]
  /** The problems as sentences: the first of every kind, and how many more there are. */
  readonly problems: readonly string[]
}

const MAX_NAMED = 20

/** Yields after each piece. If a task is given, compares only that task and its sessions. */
export function* compareTrailTablesWithLedger(
  { database, ledger }: RuntimeRecordDependencies,
  { state }: Pick<ThoughtTrailStores, 'state'>,
  taskId: string | undefined,
): Generator<undefined, TrailTablesReport, void> {
  const audit = new EntryCacheVerification(runtimeEntryTables, database.sql)
  const [problems, brokenSessions, brokenTasks] = [
    new LedgerFindings<CacheFinding>(),
    new Set<string>(),
    new Set<string>(),
  ]
  const isOurs = ({ what, id }: CacheFinding): boolean =>
    taskId === undefined || (what === 'task' ? id === taskId : state.sessions.get(id)?.taskId === taskId)
  try {
    let next = 0
    const catchUp = function* (): Generator<undefined, void, void> {
      for (let rows = ledger.cached(next); rows.length > 0; rows = ledger.cached(next)) {
        for (const { seq, cached } of rows) {
          if (cached !== undefined && audit.handles(cached.entry.kind)) audit.read(cached)
          next = seq + 1
        }
        yield
      }
    }
    yield* catchUp()
    for (let more = true; more;) {
      // An entry that changed a row since the last piece is read before the row is.
      for (const _ of catchUp());
      more = audit.compare((finding) => {
        // Thoughts are verified record by record elsewhere (trail-verification.ts).
        if (finding.what === 'thought' || !isOurs(finding)) return
        problems.add(finding)
        const broken = finding.what === 'task' ? brokenTasks : brokenSessions
        if (broken.size < MAX_NAMED) broken.add(finding.id)
      })
      yield
    }
  } finally {
    audit.close()
  }
  return {
    brokenSessions: [...brokenSessions],
    brokenTasks: [...brokenTasks],
    problems: problems.sentences(formatLedgerFinding),
  }
}
