/**
 * Mesh leave: the command with which the node deletes its membership, and nothing else: its key, its ledger and its
 * data about this house stay as they are.
 */
import { existsSync, renameSync } from 'node:fs'
import { buildDataDirectoryPaths } from '../config/data-directory.ts'
import { fail, ok } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { isLogPresent } from '../ledger/log-store.ts'
import { recordLeftCommunity } from '../main/membership-log.ts'
import { locateMeshFiles } from '../main/mesh-files.ts'
import { takeGatewayLock } from '../main/gateway-lock-client.ts'
import { locateOutsideLocks } from '../main/ledger-pin-location-store.ts'
import type { Community } from '../mesh/identity/community.ts'
import { stripNodeIdPrefix } from '../mesh/identity/node-key.ts'
import { NO_COMMUNITY_MESSAGE, formatMeshRefusal, withMeshStore } from './mesh-client.ts'
import type { MeshCommandContext, MeshStoreWithSigner, MeshCommandResult } from './mesh-client.ts'
import type { CommandAnswer } from './command-output.ts'
import { withOfflineLedger } from './offline-ledger-store.ts'

export interface LeaveCommunityOptions {
  /** Leave even if this node founded the community and others are in it. */
  readonly abandon: boolean
}

export async function leaveCommunity(
  command: MeshCommandContext,
  options: LeaveCommunityOptions,
): Promise<CommandAnswer> {
  const data = buildDataDirectoryPaths(command.dataRoot)
  // A command that only reads creates neither a key nor a database.
  if (!existsSync(locateMeshFiles(data).database)) return leaveLostCommunity(command)
  // A running gateway has peers, sessions and subscriptions of the community that it started in.
  return withoutGateway(command, () => withMeshStore(command, (opened) => leave(command, opened, options)))
}

async function withoutGateway(
  { config, dataRoot }: MeshCommandContext,
  work: () => Promise<CommandAnswer>,
): Promise<CommandAnswer> {
  const lock = await takeGatewayLock(buildDataDirectoryPaths(dataRoot), locateOutsideLocks(config, dataRoot))
  if (!lock.ok)
    return formatMeshRefusal('The gateway of this node runs. Stop it first, then leave, then start it again.')
  // The ledger takes it once more to record the leaving.
  lock.value.release()
  return work()
}

/** The member list is gone, with the file or without: what the log says of it is all that there is to leave. */
async function leaveLostCommunity(command: MeshCommandContext): Promise<CommandAnswer> {
  const recorded = await recordLeaving(command)
  if (!recorded.ok) return formatMeshRefusal(recorded.fault)
  if (!recorded.value) return formatMeshRefusal(NO_COMMUNITY_MESSAGE)
  return { json: { left: 'lost' }, text: 'This node has left the community whose member list was lost here.' }
}

/** On record before anything is forgotten: a copy of the list that somebody puts back is not believed then. */
async function recordLeaving(
  { dataRoot, config }: MeshCommandContext,
  communityId?: string,
): Promise<Result<boolean, string>> {
  if (!isLogPresent(buildDataDirectoryPaths(dataRoot).ledger)) return ok(false)
  return withOfflineLedger({ dataRoot, config, state: 'sound', rooms: 'all' }, (ledger) =>
    recordLeftCommunity(ledger, communityId),
  )
}

async function leave(
  command: MeshCommandContext,
  { store, authority }: MeshStoreWithSigner,
  { abandon }: LeaveCommunityOptions,
): Promise<MeshCommandResult> {
  const community = store.community()
  if (community === undefined) return ok(await leaveLostCommunity(command))
  const others = [...community.members.keys()].filter((nodeId) => nodeId !== authority.self.id).length
  const { rootKey } = locateMeshFiles(buildDataDirectoryPaths(command.dataRoot))
  const isFounder = existsSync(rootKey)
  if (isFounder && others > 0 && !abandon)
    return fail(
      `This node founded ${community.name} and holds its root key, without which nobody makes anchors or revokes one; ${others} other nodes are in it. If it is to leave all the same: hearthbus mesh leave --abandon, which puts the key aside.`,
    )
  const recorded = await recordLeaving(command, community.id)
  if (!recorded.ok) return recorded
  // The root key is renamed first: a node without a community that still had this key would use it for the next
  // community that it founds.
  const renamedTo = `${rootKey}.${stripNodeIdPrefix(community.id).slice(0, 8)}`
  if (isFounder) renameSync(rootKey, renamedTo)
  await store.leave()
  return ok({
    json: { left: community.id, name: community.name, ...(isFounder ? { root_key: renamedTo } : {}) },
    text: farewell(community, { others, renamedTo: isFounder ? renamedTo : undefined }),
  })
}

function farewell(
  { name }: Community,
  { others, renamedTo }: { readonly others: number; readonly renamedTo: string | undefined },
): string {
  return [
    `This node has left ${name}.`,
    'Forgotten here: the member list, open invitations, and where the other nodes were.',
    'Kept: the node’s key and so its id, the ledger, and everything about this house.',
    ...(others === 0
      ? []
      : [
          `The others have not been told: an anchor there can revoke this node (hearthbus mesh revoke NAME). Revoked, it comes back only with a new key; otherwise a new invitation will do.`,
        ]),
    ...(renamedTo === undefined
      ? []
      : [
          `The root key of ${name} is now ${renamedTo}; keep it: without it nobody can make or revoke an anchor there.`,
        ]),
    'Next: hearthbus mesh join LINE, or hearthbus mesh init.',
  ].join('\n')
}
