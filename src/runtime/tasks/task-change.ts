/**
 * Task change: whether a patch, and the transitions that come with it, may be applied to a task.
 */
import type { Fault } from '../../core/fault.ts'
import { createRuntimeFault } from '../faults.ts'
import { isTransitionAllowed, isTaskClosed, TASK_TRANSITIONS } from './task-machine.ts'
import type { TaskStatus } from './task-machine.ts'
import type { Task } from './task.ts'

export interface TaskTransitionFacts {
  /** Whether a reflection was recorded after the task last entered VERIFY. */
  readonly hasReflection: () => boolean
  /** Whether a reflection comes with the change, to be recorded just before DONE. */
  readonly includesReflection: boolean
  /** The tasks that this one depends on after the patch, and that are not DONE. */
  readonly unfinished: readonly string[]
}

export interface RequestedTaskTransition {
  readonly status: TaskStatus
  readonly reason?: string
}

/**
 * Why the change is refused, or `undefined`. Every transition is checked from the status that the previous one leads
 * to.
 */
export function explainTaskChangeRefusal(
  task: Task,
  transitions: readonly RequestedTaskTransition[],
  conditions: TaskTransitionFacts,
): Fault | undefined {
  if (transitions.length === 0) return isTaskClosed(task.status) ? taskClosed(task) : undefined
  let from = task.status
  let entersVerify = false
  for (const transition of transitions) {
    const hasReflection = (): boolean => conditions.includesReflection || (!entersVerify && conditions.hasReflection())
    const refused = refuseTransition(task, { ...transition, from }, { ...conditions, hasReflection })
    if (refused !== undefined) return refused
    from = transition.status
    entersVerify ||= from === 'VERIFY'
  }
  return undefined
}

function refuseTransition(
  { id }: Task,
  { from, status: to, reason }: RequestedTaskTransition & { readonly from: TaskStatus },
  { hasReflection, unfinished }: TaskTransitionFacts,
): Fault | undefined {
  if (!isTransitionAllowed(from, to)) return createInvalidTransitionFault(from, to)
  if (to === 'CANCELLED' && reason === undefined)
    return writebackRequired(id, 'reason', 'A cancelled task says why: give `reason`.')
  if (to === 'DONE' && !hasReflection())
    return writebackRequired(
      id,
      'thought_record',
      'Record a `reflection` on the task (thought_record) now that it is in VERIFY, or give `reflection` with this call; earlier records do not count.',
    )
  if (to === 'APPLY' && unfinished.length > 0)
    return createRuntimeFault('ERR_DEPENDENCY_UNFINISHED', `Task ${id} waits for tasks that are not DONE.`, {
      blocked_by: [...unfinished],
    })
  return undefined
}

/** `from` is `null` for a task that is being created. */
export function createInvalidTransitionFault(from: TaskStatus | null, to: TaskStatus): Fault {
  const message =
    from === null
      ? `A task begins as INIT, not as ${to}.`
      : from === to
        ? `The task is already ${to}${isTaskClosed(to) ? ' for good' : '; leave `status` out to change its other fields'}.`
        : `A task in ${from} ${waysFrom(from)}, not to ${to}.`
  return createRuntimeFault('ERR_INVALID_TRANSITION', message, { from, to })
}

function waysFrom(from: TaskStatus): string {
  const ways = TASK_TRANSITIONS[from]
  return ways.length === 0 ? 'goes nowhere' : `can go to ${ways.join(' or ')}`
}

function taskClosed({ id, status }: Task): Fault {
  return createRuntimeFault(
    'ERR_TASK_CLOSED',
    `Task ${id} is ${status} and does not change any more. For later work create a task that \`follows\` it.`,
    { id, status },
  )
}

function writebackRequired(id: string, missing: string, advice: string): Fault {
  return createRuntimeFault(
    'ERR_WRITEBACK_REQUIRED',
    `Writeback required for task ${id}: missing ${missing}. ${advice}`,
    {
      missing_fields: [missing],
    },
  )
}
