/**
 * Node name: what people call a node. The community gives each name once, and its owner may change it later; nobody
 * takes the name that the community gave to another (ADR 117).
 */
import type { Community } from './community.ts'

/** As `node.name` in the configuration. */
export const NODE_NAME_PATTERN = /^[a-z0-9][a-z0-9.-]{0,62}$/

/** What a member is called that calls itself `claimed`. */
export function resolveMemberName({ members }: Community, nodeId: string, claimed: string): string {
  const given = members.get(nodeId)?.name ?? nodeId
  if (claimed === given || !NODE_NAME_PATTERN.test(claimed)) return given
  for (const member of members.values()) if (member.name === claimed) return given
  return claimed
}

/** What all other members are called, by id: as they were when they were last heard, else as they came in. */
export function listOtherMemberNames(
  community: Community,
  self: string,
  remembered: readonly { readonly nodeId: string; readonly name?: string | undefined }[],
): ReadonlyMap<string, string> {
  const last = new Map(remembered.map(({ nodeId, name }) => [nodeId, name]))
  const names = new Map<string, string>()
  for (const { nodeId, name } of community.members.values())
    if (nodeId !== self) names.set(nodeId, resolveMemberName(community, nodeId, last.get(nodeId) ?? name))
  return names
}
