/**
 * Machine: the states of a task and the ways between them (facts of spec 5's pipeline).
 *
 *   INIT ─▶ GATHER ─▶ ANALYZE ─▶ PLAN ─▶ APPLY ─▶ VERIFY ─▶ DONE
 *             ▲                                     │
 *             └──────────────── retry ──────────────┘          any but DONE ─▶ CANCELLED
 *
 * No step is skipped; what was applied is verified even when it failed. The log refuses every other way, too
 * (runtime-state.ts).
 *
 * Pure.
 */
export const STATUSES = ['INIT', 'GATHER', 'ANALYZE', 'PLAN', 'APPLY', 'VERIFY', 'DONE', 'CANCELLED'] as const
export type Status = (typeof STATUSES)[number]

export const FIRST_STATUS: Status = 'INIT'

/** In the order they are offered to a model as `next_statuses`: onwards first. */
export const TRANSITIONS: Readonly<Record<Status, readonly Status[]>> = {
  INIT: ['GATHER', 'CANCELLED'],
  GATHER: ['ANALYZE', 'CANCELLED'],
  ANALYZE: ['PLAN', 'CANCELLED'],
  PLAN: ['APPLY', 'CANCELLED'],
  APPLY: ['VERIFY', 'CANCELLED'],
  VERIFY: ['DONE', 'GATHER', 'CANCELLED'],
  DONE: [],
  CANCELLED: [],
}

export function canTransition(from: Status, to: Status): boolean {
  return TRANSITIONS[from].includes(to)
}

/** The retry edge begins another attempt. */
export function isRetry(from: Status, to: Status): boolean {
  return from === 'VERIFY' && to === 'GATHER'
}

/** DONE and CANCELLED are for good: nothing of such a task changes any more. */
export function isClosed(status: Status): boolean {
  return TRANSITIONS[status].length === 0
}
