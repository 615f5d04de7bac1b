/**
 * Mesh offers client: carries out the commands that show and accept offers of other nodes. A running gateway notices
 * within a second; otherwise the next start reads what was accepted.
 */
import { fail, ok } from '../core/result.ts'
import type { Community } from '../mesh/identity/community.ts'
import { computeWithheldOffersDigest } from '../mesh/offer-pin.ts'
import type { WithheldOffer } from '../mesh/offer-pin.ts'
import { findMemberIds, NO_COMMUNITY_MESSAGE, withMeshStore } from './mesh-client.ts'
import type { MeshCommandContext } from './mesh-client.ts'
import type { CommandAnswer } from './command-output.ts'

const WHY: Readonly<Record<WithheldOffer['why'], string>> = {
  changed: 'is described differently than when it was first seen',
  'had-here': 'has a name of a family that this node had itself',
  'many-names': 'comes after thousands of other names',
}

export function listWithheldPeerCapabilities(
  command: MeshCommandContext,
  which: string | undefined,
): Promise<CommandAnswer> {
  return withMeshStore(command, async ({ store }) => {
    const community = store.community()
    if (community === undefined) return fail(NO_COMMUNITY_MESSAGE)
    if (which !== undefined && findMemberIds(community, which).length === 0) return fail(noMember(which))
    const ids = which === undefined ? [...community.members.keys()] : findMemberIds(community, which)
    const nodes = ids
      .map((nodeId) => ({ nodeId, name: nameOf(community, nodeId), withheld: store.offers.withheld(nodeId) }))
      .filter(({ withheld }) => withheld.length > 0)
    const json = nodes.map(({ nodeId, name, withheld }) => ({
      node_id: nodeId,
      name,
      digest: computeWithheldOffersDigest(withheld),
      offers: withheld.map(({ name: offer, title, description, effect, why }) => ({
        name: offer,
        title,
        description,
        effect,
        why,
      })),
    }))
    const text = nodes.map(({ name, withheld }) =>
      [
        ...withheld.map((offer) => `${offer.name} (${offer.effect}) ${WHY[offer.why]}:\n  ${offer.description}`),
        `To take what ${name} offers as it is: hearthbus mesh accept ${name} --digest ${computeWithheldOffersDigest(withheld)}`,
      ].join('\n'),
    )
    return ok({ json, text: text.length === 0 ? 'Nothing is withheld.' : text.join('\n\n') })
  })
}

export function acceptWithheldPeerCapabilities(
  command: MeshCommandContext,
  which: string,
  { digest }: { readonly digest?: string },
): Promise<CommandAnswer> {
  return withMeshStore(command, async ({ store }) => {
    const community = store.community()
    if (community === undefined) return fail(NO_COMMUNITY_MESSAGE)
    const [nodeId, ...others] = findMemberIds(community, which)
    if (nodeId === undefined) return fail(noMember(which))
    if (others.length > 0)
      return fail(`${others.length + 1} members are called ${which}. Name one by its id: hearthbus mesh members.`)
    const accepted = await store.offers.accept(nodeId, digest)
    if (accepted.ok)
      return ok({
        json: { node_id: nodeId, accepted: accepted.value },
        text: `Accepted: ${accepted.value.join(', ')}.`,
      })
    if (accepted.fault === 'nothing') return fail(`Nothing of ${which} is withheld.`)
    return fail(
      `The offers of ${which} have changed since they were shown. Look again: hearthbus mesh offers ${which}.`,
    )
  })
}

function nameOf({ members }: Community, nodeId: string): string {
  return members.get(nodeId)?.name ?? nodeId
}

function noMember(which: string): string {
  return `No member is called ${which}. hearthbus mesh members lists them.`
}
