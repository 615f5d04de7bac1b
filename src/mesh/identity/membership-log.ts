/**
 * Membership log: what the store of a community asks of the node's own log, which nobody can set back: how far the
 * member list had come, and which invitations were used.
 */
import type { Community } from './community.ts'

export interface MembershipLog {
  /** The newest revision of a community that this node has recorded. */
  readonly newest: (communityId: string) => { readonly revision: number; readonly digest: string } | undefined
  readonly record: (community: Community) => Promise<void>
  /** Which node used an invitation. */
  readonly usedBy: (invitationId: string) => string | undefined
  /** Durable when it resolves. Rejects when another node used it before. */
  readonly use: (invitationId: string, nodeId: string) => Promise<void>
  /** Somebody without this node's key wrote into the store while the node ran. */
  readonly altered: () => Promise<void>
}

/** Why the member list that is stored is not believed; `undefined` when it is. */
export function explainMembershipRollback(
  held: Community,
  log: Pick<MembershipLog, 'newest'> | undefined,
): string | undefined {
  const newest = log?.newest(held.id)
  if (newest === undefined || held.revision > newest.revision) return undefined
  if (held.revision === newest.revision && held.digest === newest.digest) return undefined
  return `it is at revision ${held.revision}, and this node has recorded revision ${newest.revision}`
}
