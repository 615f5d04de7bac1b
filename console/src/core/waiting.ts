/**
 * Waiting: which requests a person has before them. Whatever waited stays in its place with what became of it, and what
 * is new comes after it, so that no button moves away under a finger and another request's comes to be there.
 */
import type { ApprovalView } from '../../../src/web/views.ts'

/**
 * `before`: what was shown so far. All that is over goes when nothing of it is open any more and something new came.
 */
export function waitingNow(
  before: ReadonlySet<string>,
  approvals: readonly Pick<ApprovalView, 'id' | 'state'>[],
): ReadonlySet<string> {
  const open = approvals.filter(({ state }) => state === 'requested').map(({ id }) => id)
  const isAllNew = open.length > 0 && !open.some((id) => before.has(id))
  return new Set([...(isAllNew ? [] : before), ...open])
}
