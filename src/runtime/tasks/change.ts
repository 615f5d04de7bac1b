/**
 * Change: whether a patch may be laid over a task.
 *
 * Pure.
 */
import type { Fault } from '../../core/fault.ts'
import { fault } from '../faults.ts'
import { canTransition, TRANSITIONS } from './machine.ts'
import type { Status } from './machine.ts'
import type { Task, TaskPatch } from './task.ts'

export interface TaskConditions {
  /** Whether a reflection was recorded after the task entered VERIFY. */
  readonly hasReflection: () => boolean
  /** What the task depends on, after the patch, and is not DONE. */
  readonly unfinished: readonly string[]
}

/** Why the patch is refused, or `undefined`. */
export function refuseChange(
  task: Task,
  patch: TaskPatch,
  { hasReflection, unfinished }: TaskConditions,
): Fault | undefined {
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
