/**
 * Task entries: what the ledger says of a task, one entry after the other.
 *
 *   task.created ─▶ task.changed ─▶ task.transition ─▶ …     status, version, attempt and times: in the entries
 *        └ body         └ body          └ body               words: in the body of the last entry that set them
 *
 * Pure.
 */
import type { LedgerEntry } from '../../ledger/entry.ts'
import { FIRST_STATUS, isRetry, STATUSES } from './machine.ts'
import type { Status } from './machine.ts'

export const TASK_CREATED = 'task.created'
export const TASK_CHANGED = 'task.changed'
export const TASK_TRANSITION = 'task.transition'

/** The fields of a task that people wrote. */
export const WORDS = ['title', 'project_id', 'description', 'priority', 'assignee', 'depends_on'] as const
/** With the one that only a cancellation gives. */
export const ALL_WORDS = [...WORDS, 'cancel_reason'] as const
export type Word = (typeof ALL_WORDS)[number]

/** A task as its entries have it. Numbers and names only: the words stay where they can be erased. */
export interface ToldTask {
  readonly createdIndex: number
  readonly createdAt: string
  readonly updatedAt: string
  readonly status: Status
  readonly version: number
  readonly attempt: number
  /** Entry of the last change, and of the last move into VERIFY. */
  readonly logIndex: number
  readonly verifyIndex: number | null
  /** Entry whose body has the words of a field; a field that is not here was never set. */
  readonly setBy: Readonly<Partial<Record<Word, number>>>
}

/** The id, if the entry is about a task. */
export function taskOf({ kind, task_id: id }: LedgerEntry): string | undefined {
  const isAboutTask = kind === TASK_CREATED || kind === TASK_CHANGED || kind === TASK_TRANSITION
  return isAboutTask && typeof id === 'string' ? id : undefined
}

/** `undefined` while there is no task: a change of what was never created creates nothing. */
export function tell(before: ToldTask | undefined, entry: LedgerEntry): ToldTask | undefined {
  if (entry.kind === TASK_CREATED) return created(entry)
  if (before === undefined) return undefined
  const { from, to } = statuses(entry) ?? { from: before.status, to: before.status }
  return {
    ...before,
    // The wall clock may have gone back; a task is never updated before it was.
    updatedAt: entry.at > before.updatedAt ? entry.at : before.updatedAt,
    status: to,
    version: typeof entry['version'] === 'number' ? entry['version'] : before.version,
    attempt: isRetry(from, to) ? before.attempt + 1 : before.attempt,
    logIndex: entry.seq,
    verifyIndex: to === 'VERIFY' && from !== 'VERIFY' ? entry.seq : before.verifyIndex,
    setBy: { ...before.setBy, ...Object.fromEntries(wordsSetBy(entry).map((word) => [word, entry.seq])) },
  }
}

function created({ seq, at }: LedgerEntry): ToldTask {
  return {
    createdIndex: seq,
    createdAt: at,
    updatedAt: at,
    status: FIRST_STATUS,
    version: 1,
    attempt: 1,
    logIndex: seq,
    verifyIndex: null,
    setBy: Object.fromEntries(WORDS.map((word) => [word, seq])),
  }
}

/** Which words of a task the body of an entry has: the entry says so itself, so that it is known after an erasure. */
export function wordsSetBy(entry: LedgerEntry): readonly Word[] {
  if (entry.kind === TASK_CREATED) return WORDS
  const { fields } = entry
  const set = Array.isArray(fields) ? WORDS.filter((word) => fields.includes(word)) : []
  return statuses(entry)?.to === 'CANCELLED' ? [...set, 'cancel_reason'] : set
}

function statuses({ kind, from, to }: LedgerEntry): { readonly from: Status; readonly to: Status } | undefined {
  return kind === TASK_TRANSITION && isStatus(from) && isStatus(to) ? { from, to } : undefined
}

function isStatus(value: unknown): value is Status {
  return STATUSES.some((status) => status === value)
}
