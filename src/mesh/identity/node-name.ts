/**
 * Node name: the name that people use for a node. A node gets its name at its admission, and its owner may change it
 * later; no node can take the name that another node got at its admission (ADR 117).
 */
import type { Community } from './community.ts'

/** The same pattern as for `node.name` in the configuration. */
export const NODE_NAME_PATTERN = /^[a-z0-9][a-z0-9.-]{0,62}$/

/** The name under which a member is shown that claims the name `claimed`. */
export function resolveClaimedMemberName({ members }: Community, nodeId: string, claimed: string): string {
  const given = members.get(nodeId)?.name ?? nodeId
  if (claimed === given || !NODE_NAME_PATTERN.test(claimed)) return given
  for (const member of members.values()) if (member.name === claimed) return given
  return claimed
}

/** The names of all other members, by id: the names that they last used, else those from their admissions. */
export function listOtherMemberNames(
  community: Community,
  self: string,
  remembered: readonly { readonly nodeId: string; readonly name?: string | undefined }[],
): ReadonlyMap<string, string> {
  const last = new Map(remembered.map(({ nodeId, name }) => [nodeId, name]))
  const names = new Map<string, string>()
  for (const { nodeId, name } of community.members.values())
    if (nodeId !== self) names.set(nodeId, resolveClaimedMemberName(community, nodeId, last.get(nodeId) ?? name))
  return names
}
