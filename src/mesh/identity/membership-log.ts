/**
 * Membership log: the interface through which the store of a community uses the node's own log, which cannot be rolled
 * back unnoticed: the newest revision of the member list, and the used invitations.
 */
import type { Community } from './community.ts'

export interface RecordedCommunityRevision {
  readonly revision: number
  readonly digest: string
  /** Whoever comes in again is admitted once more, which is a newer revision. */
  readonly isLeft?: boolean
}

export interface MembershipLog {
  /** The newest revision of a community that this node has recorded. */
  readonly newest: (communityId: string) => RecordedCommunityRevision | undefined
  readonly record: (community: Community) => Promise<void>
  /** Which node used an invitation. */
  readonly usedBy: (invitationId: string) => string | undefined
  /** Records the use. It is durable when the promise resolves; rejects when another node used the invitation before. */
  readonly use: (invitationId: string, nodeId: string) => Promise<void>
  /** Records that a program without this node's key wrote into the store while the node ran. */
  readonly altered: () => Promise<void>
}

/** Why the stored member list is not trusted; `undefined` when it is. */
export function explainMembershipRollback(
  held: Community,
  log: Pick<MembershipLog, 'newest'> | undefined,
): string | undefined {
  const newest = log?.newest(held.id)
  if (newest === undefined || held.revision > newest.revision) return undefined
  if (newest.isLeft === true) return 'this node has left that community'
  if (held.revision === newest.revision && held.digest === newest.digest) return undefined
  return `it is at revision ${held.revision}, and this node has recorded revision ${newest.revision}`
}
