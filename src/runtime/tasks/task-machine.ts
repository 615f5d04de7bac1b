/**
 * Task machine: the statuses of a task and the transitions between them (spec 5's pipeline).
 *
 *   INIT ─▶ GATHER ─▶ ANALYZE ─▶ PLAN ─▶ APPLY ─▶ VERIFY ─▶ DONE
 *             ▲                                     │
 *             └──────────────── retry ──────────────┘          any but DONE ─▶ CANCELLED
 *
 * No step is skipped; what was applied is verified even when it failed. The log refuses every other transition, too
 * (runtime-state.ts).
 */
export const TASK_STATUSES = ['INIT', 'GATHER', 'ANALYZE', 'PLAN', 'APPLY', 'VERIFY', 'DONE', 'CANCELLED'] as const
export type TaskStatus = (typeof TASK_STATUSES)[number]

export const INITIAL_TASK_STATUS: TaskStatus = 'INIT'

/** In the order in which a model is offered them as `next_statuses`: forward first. */
export const TASK_TRANSITIONS: Readonly<Record<TaskStatus, readonly TaskStatus[]>> = {
  INIT: ['GATHER', 'CANCELLED'],
  GATHER: ['ANALYZE', 'CANCELLED'],
  ANALYZE: ['PLAN', 'CANCELLED'],
  PLAN: ['APPLY', 'CANCELLED'],
  APPLY: ['VERIFY', 'CANCELLED'],
  VERIFY: ['DONE', 'GATHER', 'CANCELLED'],
  DONE: [],
  CANCELLED: [],
}

export function isTransitionAllowed(from: TaskStatus, to: TaskStatus): boolean {
  return TASK_TRANSITIONS[from].includes(to)
}

/** The retry edge begins another attempt. */
export function isRetryTransition(from: TaskStatus, to: TaskStatus): boolean {
  return from === 'VERIFY' && to === 'GATHER'
}

/** DONE and CANCELLED are final: such a task no longer changes. */
export function isTaskClosed(status: TaskStatus): boolean {
  return TASK_TRANSITIONS[status].length === 0
}
