/**
 * Mesh client: what the `mesh` commands do. They work on the node's own files, so they work whether or not its gateway
 * runs; a running gateway notices within half a second.
 */
import { existsSync } from 'node:fs'
import { buildDataDirectoryPaths } from '../config/data-directory.ts'
import type { Config } from '../config/schema.ts'
import { randomBytes, newUlid } from '../core/ids.ts'
import { systemClock } from '../core/clock.ts'
import { SchemaAlteredError } from '../core/database-store.ts'
import { createPrivateFolder } from '../core/folder-store.ts'
import type { Json } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { formatKeyFault, loadExistingNodeKey, loadOrCreateNodeKey } from '../ledger/key-store.ts'
import { deriveMeshDatabaseSealKey } from '../main/membership-log.ts'
import { loadNodeKey } from '../main/node-key-store.ts'
import { joinByInvitation } from '../main/joining-client.ts'
import { locateMeshFiles } from '../main/mesh-files.ts'
import { listOwnAddresses } from '../mesh/discovery/own-addresses.ts'
import { formatHostPort } from '../mesh/discovery/peer-source.ts'
import { createCommunity, mayAdmitMembers, revokeMember } from '../mesh/identity/community.ts'
import type { CommunitySigningIdentities, Community, CommunityFault } from '../mesh/identity/community.ts'
import type { MembershipLevel } from '../mesh/identity/membership-record.ts'
import { decodeSignedInvitation, encodeSignedInvitation } from '../mesh/identity/invitation.ts'
import type { InvitationFault } from '../mesh/identity/invitation.ts'
import { MeshStore } from '../mesh/identity/mesh-store.ts'
import { MembershipAlteredError } from '../mesh/identity/community-store.ts'
import { deriveNodeIdentity, formatShortId } from '../mesh/identity/node-key.ts'
import type { NodeIdentity } from '../mesh/identity/node-key.ts'
import { encodeUserNkey } from '../mesh/nats/nkey.ts'
import { EXIT_CODES, formatTable } from './command-output.ts'
import type { CommandAnswer } from './command-output.ts'

export interface MeshCommandContext {
  readonly config: Config
  readonly dataRoot: string
  /** The name of this node, as the running gateway gives it, if one runs. */
  readonly name: string
}

/** A sentence that says what is wrong and what to do. */
export type MeshCommandResult = Result<CommandAnswer, string>

export interface MeshStoreWithSigner {
  readonly store: MeshStore
  readonly authority: CommunitySigningIdentities
}

const MINUTE_MS = 60_000
const LEAVE_FIRST = 'To leave that one first: hearthbus mesh leave.'

export function createOwnCommunity(command: MeshCommandContext, name: string): Promise<CommandAnswer> {
  return withMeshStore(command, async ({ store, authority }) => {
    const held = store.community()
    if (held !== undefined) return fail(`This node belongs to ${held.name} already. ${LEAVE_FIRST}`)
    const key = await loadOrCreateNodeKey(locateMeshFiles(buildDataDirectoryPaths(command.dataRoot)).rootKey)
    if (!key.ok) return fail(formatKeyFault(key.fault))
    const root = deriveNodeIdentity(key.value.privateKey)
    const founder = { nodeId: authority.self.id, name: command.name }
    const founded = await store.accept(createCommunity({ name, root, founder, nowMs: systemClock.now() }))
    if (!founded.ok) return fail(communitySentence(founded.fault))
    return createResult(
      { community: root.id, name },
      `${name} is founded, and this node is its first anchor.\nIts root key is ${locateMeshFiles(buildDataDirectoryPaths(command.dataRoot)).rootKey}: keep a copy of it in a safe place.\nNext: hearthbus mesh invite${enabledHint(command)}`,
    )
  })
}

export function inviteNode(
  command: MeshCommandContext,
  options: { level: MembershipLevel; minutes: number },
): Promise<CommandAnswer> {
  return withMeshStore(command, async ({ store, authority }) => {
    const community = store.community()
    if (community === undefined) return fail(NO_COMMUNITY_MESSAGE)
    if (!mayAdmitMembers(community, authority)) return fail('Only an anchor can invite nodes. Run this on an anchor.')
    // An anchor can admit and revoke others. Only the root key makes a node an anchor (ADR 31).
    if (options.level === 'anchor' && authority.root?.id !== community.id)
      return fail('Only the node with the root key can make anchors.')
    const nowMs = systemClock.now()
    const invitation = {
      id: newUlid(),
      communityId: community.id,
      communityName: community.name,
      issuer: authority.self.id,
      level: options.level,
      expiresAtMs: nowMs + options.minutes * MINUTE_MS,
      // Known to the issuer and to the holder of the invitation. It proves once that its holder is invited.
      secret: randomBytes(32),
      addresses: listeningAt(command, store),
    }
    await store.invitations.add(invitation, nowMs)
    const text = encodeSignedInvitation(invitation, authority.self)
    return createResult(
      { invitation: text, level: options.level, expires_at: new Date(invitation.expiresAtMs).toISOString() },
      `${text}\n\nGood for one node, as ${options.level}, for ${options.minutes} minutes, while this node's gateway runs.\nOn the other node: hearthbus mesh join <that line>${enabledHint(command)}`,
    )
  })
}

export function joinCommunity(command: MeshCommandContext, text: string): Promise<CommandAnswer> {
  return withMeshStore(command, async ({ store, authority }) => {
    const held = store.community()
    const invitation = decodeSignedInvitation(text, systemClock.now())
    if (!invitation.ok) return fail(invitationSentence(invitation.fault))
    if (held !== undefined && held.id !== invitation.value.communityId)
      return fail(`This node belongs to ${held.name} already; one node belongs to one community. ${LEAVE_FIRST}`)
    const joined = await joinByInvitation({
      invitation: invitation.value,
      identity: authority.self,
      name: command.name,
      natsServers: command.config.mesh.nats.servers,
      useNkey: command.config.mesh.nats.nkey,
    })
    if (!joined.ok) return fail(joined.fault)
    const { issuer, addresses } = invitation.value
    // Saved first, because a running gateway looks for its inviter as soon as it sees the community.
    await store.peers.save([{ nodeId: issuer, addresses }], systemClock.now())
    const accepted = await store.accept(joined.value)
    if (!accepted.ok && accepted.fault.kind !== 'not-newer') return fail(communitySentence(accepted.fault))
    const { name, id, members } = joined.value
    return createResult(
      { community: id, name, members: members.size },
      `Joined ${name}, ${members.size} nodes.${enabledHint(command)}`,
    )
  })
}

/** The commands work without a listener, but the nodes that they invite need one. */
function enabledHint({ config }: MeshCommandContext): string {
  return config.mesh.enabled ? '' : '\nSet mesh.enabled in the configuration, or it has no effect.'
}

export async function listMembers(command: MeshCommandContext): Promise<CommandAnswer> {
  // A command that only reads creates neither a key nor a database.
  if (!existsSync(locateMeshFiles(buildDataDirectoryPaths(command.dataRoot)).database))
    return formatMeshRefusal(NO_COMMUNITY_MESSAGE)
  return withMeshStore(command, async ({ store, authority }) => {
    const community = store.community()
    if (community === undefined) return fail(NO_COMMUNITY_MESSAGE)
    const members = [...community.members.values()]
    const rows = members.map(({ name, nodeId, level, addedAt }) => [
      `${name}${nodeId === authority.self.id ? ' (this node)' : ''}`,
      level,
      formatShortId(nodeId),
      addedAt,
      nodeId,
    ])
    const revoked = [...community.revoked].map(([nodeId, at]) => ['–', 'revoked', formatShortId(nodeId), at, nodeId])
    return createResult(
      {
        community: community.id,
        name: community.name,
        revision: community.revision,
        members: members.map(({ name, nodeId, level, addedAt, addedBy }) => ({
          name,
          node_id: nodeId,
          level,
          added_at: addedAt,
          added_by: addedBy,
        })),
        revoked: [...community.revoked].map(([nodeId, at]) => ({ node_id: nodeId, revoked_at: at })),
      },
      `${community.name}, revision ${community.revision}\n\n${formatTable(['name', 'level', 'short', 'since', 'id'], [...rows, ...revoked])}`,
    )
  })
}

export function revokeNode(command: MeshCommandContext, which: string): Promise<CommandAnswer> {
  return withMeshStore(command, async ({ store, authority }) => {
    const community = store.community()
    if (community === undefined) return fail(NO_COMMUNITY_MESSAGE)
    const [nodeId, ...others] = findMemberIds(community, which)
    if (nodeId === undefined) return fail(`No member is called ${which}. hearthbus mesh members lists them.`)
    if (others.length > 0)
      return fail(`${others.length + 1} members are called ${which}. Name one by its id: hearthbus mesh members.`)
    if (nodeId === authority.self.id) return fail('A node cannot revoke itself.')
    const context = { authority, nowMs: systemClock.now() }
    const decided = await store.decide((current) => revokeMember(current, nodeId, context))
    if (!decided.ok)
      return fail(decided.fault.kind === 'no-community' ? NO_COMMUNITY_MESSAGE : communitySentence(decided.fault))
    return createResult(
      { revoked: nodeId, revision: decided.value.revision },
      `${which} is revoked. This node refuses it from now on; the others hear of it as soon as they are reached.`,
    )
  })
}

/** The key for the `users` of a NATS server; docs/protocols/mesh.md describes the permissions that belong to it. */
export function showNatsKey(command: MeshCommandContext): Promise<CommandAnswer> {
  return withMeshStore(command, async ({ authority }) => {
    const nkey = encodeUserNkey(authority.self.publicKey)
    return createResult({ nkey, node_id: authority.self.id }, nkey)
  })
}

/** The addresses at which a gateway listens or listened last, else those that are configured. */
function listeningAt({ config }: MeshCommandContext, store: MeshStore): readonly string[] {
  const known = store.addresses()
  if (known.length > 0) return known
  return listOwnAddresses(config.mesh).map(({ host, port }) => formatHostPort(host, port))
}

/**
 * Finds members by id or, if the text is no id, by name or by the short id that lists show. Nodes name themselves, so
 * several may share a name, and one may take another's id as its name; an exact id always wins.
 */
export function findMemberIds({ members }: Pick<Community, 'members'>, which: string): readonly string[] {
  if (members.has(which)) return [which]
  return [...members.values()]
    .filter(({ nodeId, name }) => name === which || formatShortId(nodeId) === which)
    .map(({ nodeId }) => nodeId)
}

/** The database is shared with the gateway, so each command opens it only as long as it works. */
export async function withMeshStore(
  command: MeshCommandContext,
  work: (opened: MeshStoreWithSigner) => Promise<MeshCommandResult>,
): Promise<CommandAnswer> {
  const data = buildDataDirectoryPaths(command.dataRoot)
  const files = locateMeshFiles(data)
  createPrivateFolder(data.keys)
  const key = await loadNodeKey(data)
  if (!key.ok) return formatMeshRefusal(key.fault)
  const root = await rootAt(files.rootKey)
  const sealKey = deriveMeshDatabaseSealKey(key.value.privateKey)
  let store: MeshStore
  try {
    store = new MeshStore(files.database, { sealKey })
  } catch (error) {
    if (error instanceof MembershipAlteredError || error instanceof SchemaAlteredError)
      return formatMeshRefusal(error.message)
    throw error
  }
  try {
    const result = await work({ store, authority: { self: deriveNodeIdentity(key.value.privateKey), root } })
    return result.ok ? result.value : formatMeshRefusal(result.fault)
  } finally {
    store.close()
  }
}

/**
 * The root key exists only on the node that founded the community. A key that cannot be read counts as absent, and
 * grants nothing.
 */
async function rootAt(path: string): Promise<NodeIdentity | undefined> {
  const key = await loadExistingNodeKey(path)
  return key.ok ? deriveNodeIdentity(key.value.privateKey) : undefined
}

export const NO_COMMUNITY_MESSAGE =
  'This node belongs to no community: hearthbus mesh init founds one, hearthbus mesh join enters one.'

function createResult(json: Json, text: string): MeshCommandResult {
  return ok({ json, text })
}

export function formatMeshRefusal(message: string): CommandAnswer {
  return { json: { ok: false, error: { message } }, text: message, exit: EXIT_CODES.failed }
}

function invitationSentence(fault: InvitationFault): string {
  switch (fault.kind) {
    case 'malformed':
      return `That is not an invitation: ${fault.reason}.`
    case 'bad-signature':
      return 'This invitation is damaged: a character is missing or changed.'
    case 'expired':
      return 'This invitation has expired. Ask for a new one.'
    default:
      return 'This invitation cannot be used.'
  }
}

function communitySentence(fault: CommunityFault): string {
  if (fault.kind === 'no-authority') return 'Only an anchor may do that. hearthbus mesh members shows which nodes are.'
  if (fault.kind === 'foreign') return 'That community is not the one of this node.'
  return `The member list was not changed (${fault.kind}).`
}
