/**
 * Change: whether a patch may be laid over a task, and what the task is afterwards.
 *
 * Pure.
 */
import type { Fault } from '../../core/fault.ts'
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import { fault } from '../faults.ts'
import { canTransition, isRetry, TRANSITIONS } from './machine.ts'
import type { Status } from './machine.ts'
import { priorityRank } from './priority.ts'
import type { Task, TaskPatch } from './task.ts'
import type { ChangedTask } from './task-store.ts'

export interface Circumstances {
  /** ISO 8601. */
  readonly at: string
  /** Whether a reflection was recorded after the task entered VERIFY. */
  readonly hasReflection: () => boolean
  /** What the task depends on, after the patch, and is not DONE. */
  readonly unfinished: readonly string[]
}

/** `null` in a patch empties a field, an absent one leaves it; title and status cannot be emptied. */
export function changeTask(task: Task, patch: TaskPatch, circumstances: Circumstances): Result<ChangedTask, Fault> {
  const refused = refusal(task, patch, circumstances)
  if (refused !== undefined) return fail(refused)
  const status = patch.status ?? task.status
  const priority = patch.priority === undefined ? task.priority : patch.priority
  return ok({
    title: patch.title ?? task.title,
    status,
    priority,
    priority_rank: priorityRank(priority),
    project_id: patch.project_id === undefined ? task.project_id : patch.project_id,
    description: patch.description === undefined ? task.description : patch.description,
    assignee: patch.assignee === undefined ? task.assignee : patch.assignee,
    cancel_reason: patch.status === 'CANCELLED' ? (patch.reason ?? null) : task.cancel_reason,
    // The wall clock may have gone back; a task is never updated before it was.
    updated_at: circumstances.at > task.updated_at ? circumstances.at : task.updated_at,
    attempt: isRetry(task.status, status) ? task.attempt + 1 : task.attempt,
  })
}

function refusal(task: Task, patch: TaskPatch, { hasReflection, unfinished }: Circumstances): Fault | undefined {
  const to = patch.status
  if (to === undefined) return undefined
  if (!canTransition(task.status, to)) return invalidTransition(task.status, to)
  if (to === 'CANCELLED' && patch.reason === undefined)
    return writebackRequired(task.id, 'reason', 'A cancelled task says why: give `reason`.')
  if (to === 'DONE' && !hasReflection())
    return writebackRequired(
      task.id,
      'thought_record',
      'Record a `reflection` on the task (thought_record) now that it is in VERIFY; earlier records do not count.',
    )
  if (to === 'APPLY' && unfinished.length > 0)
    return fault('ERR_DEPENDENCY_UNFINISHED', `Task ${task.id} waits for tasks that are not DONE.`, {
      blocked_by: [...unfinished],
    })
  return undefined
}

/** `from` is `null` for a task that is only being created. */
export function invalidTransition(from: Status | null, to: Status): Fault {
  const message =
    from === null
      ? `A task begins as INIT, not as ${to}.`
      : from === to
        ? `The task is already ${to}; leave \`status\` out to change its other fields.`
        : `A task in ${from} ${waysFrom(from)}, not to ${to}.`
  return fault('ERR_INVALID_TRANSITION', message, { from, to })
}

function waysFrom(from: Status): string {
  const ways = TRANSITIONS[from]
  return ways.length === 0 ? 'goes nowhere' : `can go to ${ways.join(' or ')}`
}

function writebackRequired(id: string, missing: string, advice: string): Fault {
  return fault('ERR_WRITEBACK_REQUIRED', `Writeback required for task ${id}: missing ${missing}. ${advice}`, {
    missing_fields: [missing],
  })
}
