/**
 * Join admission: whether the node that asks to join may use its invitation, and why not.
 *
 * Pure.
 */
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import { findMemberStanding } from './community.ts'
import type { CommunityFault, Community } from './community.ts'
import type { StoredInvitation } from './invitation-store.ts'
import { isJoinRequestProven } from './invitation.ts'
import type { JoinRequest } from './invitation.ts'

export type JoinFault =
  | { readonly kind: 'unknown-invitation' }
  | { readonly kind: 'used-invitation' }
  | { readonly kind: 'expired-invitation' }
  | { readonly kind: 'wrong-proof' }
  | { readonly kind: 'revoked' }
  | { readonly kind: 'name-taken'; readonly name: string }
  | { readonly kind: 'no-community' }
  | CommunityFault

export interface UsableInvitation {
  readonly held: Community
  readonly invitation: StoredInvitation | undefined
}

/** What this node knows about the invitation of a request. */
interface InvitationFacts {
  readonly held: Community | undefined
  readonly invitation: StoredInvitation | undefined
  /** Which node used it, as the log says. */
  readonly loggedUser: string | undefined
  readonly nowMs: number
}

/**
 * Finds the invitation if this node may use it; returns `undefined` for the invitation if it already admitted this
 * node.
 */
export function findUsableInvitation(
  request: JoinRequest,
  { held, invitation, loggedUser, nowMs }: InvitationFacts,
): Result<UsableInvitation, JoinFault> {
  if (held === undefined) return fail({ kind: 'no-community' })
  if (invitation === undefined) return fail({ kind: 'unknown-invitation' })
  if (!isJoinRequestProven(request, invitation.secret)) return fail({ kind: 'wrong-proof' })
  const standing = findMemberStanding(held, request.nodeId)
  if (standing.kind === 'revoked') return fail({ kind: 'revoked' })
  // The membership records may contain a use that an older copy of this database and of the log lacks.
  const [use] = held.invitations.get(request.invitationId) ?? []
  const usedBy = use?.nodeId ?? loggedUser ?? invitation.usedBy
  // The node was admitted, but the first answer was lost, so it is answered again.
  if (usedBy === request.nodeId && standing.kind === 'member') return ok({ held, invitation: undefined })
  if (usedBy !== null && usedBy !== request.nodeId) return fail({ kind: 'used-invitation' })
  if (invitation.usedBy !== null) return fail({ kind: 'used-invitation' })
  if (invitation.expiresAtMs < nowMs) return fail({ kind: 'expired-invitation' })
  for (const member of held.members.values())
    if (member.name === request.name && member.nodeId !== request.nodeId)
      return fail({ kind: 'name-taken', name: request.name })
  return ok({ held, invitation })
}
