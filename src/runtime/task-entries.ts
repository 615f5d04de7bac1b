/**
 * Task entries: which texts of a task are in the body of an entry.
 *
 *   task.created ─▶ task.changed ─▶ task.transition ─▶ …     status, version and dependencies: in the entries
 *        └ body         └ body          └ body               words: in the body of the last entry that set them
 */
import type { LedgerEntry } from '../ledger/entry.ts'

export const TASK_CREATED_KIND = 'task.created'
export const TASK_CHANGED_KIND = 'task.changed'
export const TASK_TRANSITION_KIND = 'task.transition'

/**
 * The fields of a task that people wrote. Dependencies are not among them: they are ids, and other tasks wait for them.
 */
export const ERASABLE_TASK_FIELDS = [
  'title',
  'project_id',
  'description',
  'priority',
  'assignee',
  'cancel_reason',
] as const
export type ErasableTaskField = (typeof ERASABLE_TASK_FIELDS)[number]

/** The id, if the entry is about a task. */
export function readTaskId({ kind, task_id: id }: LedgerEntry): string | undefined {
  const isAboutTask = kind === TASK_CREATED_KIND || kind === TASK_CHANGED_KIND || kind === TASK_TRANSITION_KIND
  return isAboutTask && typeof id === 'string' ? id : undefined
}

/**
 * The texts of a task that the body of an entry contains. The entry itself lists them, so that this is known even after
 * an erasure.
 */
export function listErasableTaskFieldsInEntry({ kind, fields, to }: LedgerEntry): readonly ErasableTaskField[] {
  const set = Array.isArray(fields) ? ERASABLE_TASK_FIELDS.filter((word) => fields.includes(word)) : []
  return kind === TASK_TRANSITION_KIND && to === 'CANCELLED' ? [...set, 'cancel_reason'] : set
}
