/**
 * Subject audit: the tasks and sessions that a trail is about, held against the ledger on the same walk.
 *
 * Pure: it reads through what it is given.
 */
import { BODY_ERASED } from '../../ledger/body.ts'
import type { CopyAudit, CopyDoubt, CopyNews } from '../../ledger/copies.ts'
import { decodeEntry, isSequence } from '../../ledger/entry.ts'
import { doubtSentence, Findings, findingSentence } from '../../ledger/finding.ts'
import { createSessionAudit } from '../proofs/session-audit.ts'
import type { SessionOwners } from '../proofs/session-audit.ts'
import { SESSION_FINAL, SESSION_START } from '../proofs/session-leaf.ts'
import type { SessionStore } from '../proofs/session-store.ts'
import { createTaskAudit } from '../tasks/task-audit.ts'
import { TASK_CHANGED, TASK_CREATED, TASK_TRANSITION } from '../tasks/task-entries.ts'
import type { TaskStore } from '../tasks/task-store.ts'
import type { StoredBody } from './leaf.ts'

/** The ledger's tables as the walk reads them. */
export interface Leaves {
  readonly size: () => number
  readonly entries: (from: number, limit: number) => readonly LeafRow[]
  readonly entry: (seq: number) => LeafRow | undefined
  readonly body: (seq: number) => StoredBody | undefined
}

export interface LeafRow {
  readonly seq: number
  readonly kind: string
  readonly bytes: Uint8Array
}

export interface Subjects {
  readonly leaves: Leaves
  readonly sessions: Pick<SessionStore, 'get' | 'root' | 'marks'>
  readonly tasks: Pick<TaskStore, 'stored' | 'ids'>
}

export interface SubjectScope {
  readonly concerns: (owners: SessionOwners) => boolean
  readonly mentions: (row: LeafRow) => boolean
  /** Only this task; all, unless told. */
  readonly taskId: string | undefined
  /** A session is sealed whatever became of the tasks that it is about. */
  readonly sessionsOnly: boolean
}

export interface SubjectReport {
  /** Sessions and tasks that were added, dropped or are told otherwise by the tables; the first of them. */
  readonly brokenSessions: readonly string[]
  readonly brokenTasks: readonly string[]
  /** What is wrong with them, in sentences; the first of every kind, and how many more. */
  readonly problems: readonly string[]
  /** What could not be compared because the words were erased. */
  readonly uncompared: readonly string[]
}

export interface SubjectAudit {
  readonly read: (row: LeafRow) => void
  /**
   * Once everything up to `to` was read: compares the tables, a piece at a time. What changed a row since the last
   * piece is read before the row is.
   */
  readonly compare: (to: number) => Generator<undefined, void, void>
  /** Whether words were missed whose erasure is still to be found. */
  readonly misses: () => boolean
  readonly report: () => SubjectReport
}

const MAX_NAMED = 20
/** Entries read at once. */
const PIECE = 1_000
const OF_TASKS: ReadonlySet<string> = new Set([TASK_CREATED, TASK_CHANGED, TASK_TRANSITION])
const OF_SESSIONS: ReadonlySet<string> = new Set([SESSION_START, SESSION_FINAL])

export function createSubjectAudit({ leaves, sessions, tasks }: Subjects, scope: SubjectScope): SubjectAudit {
  const { concerns, mentions, taskId, sessionsOnly } = scope
  const [brokenSessions, brokenTasks] = [new Set<string>(), new Set<string>()]
  const [problems, doubts] = [new Findings(), new Findings<CopyDoubt>()]
  // Entries whose words are not there any more, and those whose words the ledger says were erased.
  const [gone, erased] = [new Set<number>(), new Set<number>()]
  const news: CopyNews = {
    found: (finding) => {
      problems.add(finding)
      const broken = finding.what === 'task' ? brokenTasks : brokenSessions
      if (broken.size < MAX_NAMED) broken.add(finding.id)
    },
    doubted: (doubt) => doubts.add(doubt),
    unread: (seq, why) => {
      if (why === 'gone') gone.add(seq)
      else problems.add({ kind: 'body-differs', seq })
    },
  }
  const audits: readonly CopyAudit[] = [
    createSessionAudit({ sessions, leaves, news, concerns }),
    ...(sessionsOnly ? [] : [createTaskAudit({ tasks, leaves, news, only: taskId })]),
  ]

  const read = (row: LeafRow): void => {
    // A seal does not name the task of its session: those are few, and all of them are read.
    const isOurs = OF_SESSIONS.has(row.kind) || (OF_TASKS.has(row.kind) && mentions(row))
    if (!isOurs && row.kind !== BODY_ERASED) return
    const entry = decodeEntry(row.bytes)
    // What is no entry any more is for ledger_verify to name.
    if (!entry.ok) return
    if (isOurs) for (const audit of audits) audit.read(entry.value, row.bytes)
    else if (isSequence(entry.value['entry'])) erased.add(entry.value['entry'])
  }

  return {
    read,
    compare: function* (to) {
      let next = to
      const catchUp = (): void => {
        for (let rows = leaves.entries(next, PIECE); rows.length > 0; rows = leaves.entries(next, PIECE)) {
          for (const row of rows) read(row)
          next = (rows.at(-1)?.seq ?? next) + 1
        }
      }
      for (const audit of audits)
        for (let more = true; more;) {
          catchUp()
          more = audit.compare()
          yield
        }
    },
    misses: () => gone.size > 0,
    report: () => {
      for (const seq of gone) if (!erased.has(seq)) problems.add({ kind: 'body-missing', seq })
      return {
        brokenSessions: [...brokenSessions],
        brokenTasks: [...brokenTasks],
        problems: problems.sentences(findingSentence),
        uncompared: doubts.sentences(doubtSentence),
      }
    },
  }
}
