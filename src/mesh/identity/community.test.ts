import { describe, expect, it } from 'vitest'
import { identityOf, NEW_YEAR_MS, vectors } from '../../../test/mesh-keys.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Result } from '../../core/result.ts'
import {
  foundCommunity,
  readCommunity,
  reapply,
  standingOf,
  supersede,
  withMember,
  withoutMember,
} from './community.ts'
import type { Community, CommunityFault, Level } from './community.ts'
import type { NodeIdentity } from './node-key.ts'
import { signDocument } from './signed-document.ts'

const [founder, root, second, third] = [identityOf(1), identityOf(2), identityOf(3), identityOf(4)]
const nowMs = NEW_YEAR_MS
const byRoot = { authority: { self: founder, root }, nowMs }
const bySecond = { authority: { self: second, root: undefined }, nowMs }
const village = foundCommunity({ name: 'village', root, founder: { nodeId: founder.id, name: 'cellar' }, nowMs })

describe('community', () => {
  it('is founded as the published vector says', () => {
    expect(village.document).toEqual(vectors.community.document)
    expect(village.digest).toBe(vectors.community.digest)
    expect(village.id).toBe(root.id)
    expect(standingOf(village, founder.id)).toEqual({ kind: 'member', level: 'anchor' })
    expect(standingOf(village, second.id)).toEqual({ kind: 'stranger' })
  })

  it('grows by what an anchor signs', () => {
    const grown = added(added(village, second.id, 'anchor'), third.id, 'member', bySecond)
    expect(grown.revision).toBe(3)
    expect(grown.signedBy).toBe(second.id)
    expect(value(readCommunity(grown.document, root.id)).members.get(third.id)).toMatchObject({ level: 'member' })
  })

  it('refuses what a plain member signs, here and elsewhere', () => {
    const grown = added(village, second.id, 'trusted')
    expect(withMember(grown, memberOf(third.id, 'member'), bySecond)).toMatchObject({ fault: { kind: 'no-authority' } })
    const { signature: _, ...document } = grown.document as JsonObject & { type: string }
    const forged = signDocument({ ...document, revision: 9, signed_by: second.id }, second)
    expect(readCommunity(forged, root.id)).toMatchObject({ fault: { kind: 'no-authority' } })
  })

  it('has no anchor that the root did not certify', () => {
    const grown = added(village, second.id, 'anchor')
    expect(withMember(grown, memberOf(third.id, 'anchor'), bySecond)).toMatchObject({ fault: { kind: 'no-authority' } })
    const { signature: _, ...document } = grown.document as JsonObject & { type: string }
    const members = document['members'] as JsonObject[]
    const appointed = { ...members[1], node_id: third.id }
    const forged = signDocument(
      { ...document, members: [...members, appointed], revision: 9, signed_by: second.id },
      second,
    )
    expect(readCommunity(forged, root.id)).toMatchObject({ fault: { kind: 'bad-signature' } })
  })

  it('belongs to the one id that it has', () => {
    expect(readCommunity(village.document, second.id)).toMatchObject({ fault: { kind: 'foreign' } })
    expect(readCommunity({ ...village.document, name: 'town' }, root.id)).toMatchObject({
      fault: { kind: 'bad-signature' },
    })
  })

  it('forgets no revocation unless the root says so', () => {
    const grown = added(added(village, second.id, 'anchor'), third.id, 'member')
    const revoked = value(withoutMember(grown, third.id, byRoot))
    expect(standingOf(revoked, third.id)).toEqual({ kind: 'revoked' })
    const fromBefore = added(added(grown, identityOf(5).id, 'member', bySecond), identityOf(6).id, 'member', bySecond)
    expect(fromBefore.revision).toBeGreaterThan(revoked.revision)
    expect(supersede(revoked, fromBefore)).toMatchObject({ fault: { kind: 'forgets-revocation' } })
  })

  it('takes nothing from an anchor that it has revoked', () => {
    const grown = added(village, second.id, 'anchor')
    const revoked = value(withoutMember(grown, second.id, byRoot))
    const coup = added(added(grown, third.id, 'member', bySecond), identityOf(5).id, 'member', bySecond)
    expect(supersede(revoked, coup)).toMatchObject({ fault: { kind: 'no-authority' } })
  })

  it('takes no large step from an anchor, and any from the root', () => {
    const grown = added(village, second.id, 'anchor')
    expect(supersede(grown, renumbered(grown, 1_002, second)).ok).toBe(true)
    for (const revision of [1_003, Number.MAX_SAFE_INTEGER])
      expect(supersede(grown, renumbered(grown, revision, second))).toEqual({
        ok: false,
        fault: { kind: 'too-far-ahead', revision },
      })
    expect(supersede(grown, renumbered(grown, 5_000, root)).ok).toBe(true)
  })

  it('takes a list in which the root revokes an anchor that it knows, whatever the numbers', () => {
    const grown = added(added(village, second.id, 'anchor'), third.id, 'anchor')
    const revoked = value(withoutMember(grown, second.id, byRoot))
    const ahead = renumbered(grown, Number.MAX_SAFE_INTEGER, second)
    const builtUponIt = renumbered(grown, 900, third)
    for (const held of [ahead, builtUponIt]) {
      expect(supersede(held, revoked).ok).toBe(true)
      expect(supersede(revoked, held).ok).toBe(false)
    }
    const byAnchor = value(withoutMember(grown, second.id, { authority: { self: third, root: undefined }, nowMs }))
    expect(supersede(ahead, byAnchor)).toMatchObject({ fault: { kind: 'not-newer' } })
  })

  it('makes nothing once more that a revoked anchor may have written, except to lock out who is no anchor', () => {
    const grown = added(added(added(village, second.id, 'anchor'), third.id, 'anchor'), identityOf(5).id, 'member')
    const revoked = value(withoutMember(grown, second.id, byRoot))
    let coup = added(grown, identityOf(6).id, 'member', bySecond)
    for (const nodeId of [founder.id, identityOf(5).id]) coup = value(withoutMember(coup, nodeId, bySecond))
    const inNameOfThird = { ...coup, members: new Map(coup.members) }
    const stranger = coup.members.get(identityOf(6).id)
    if (stranger !== undefined) inNameOfThird.members.set(stranger.nodeId, { ...stranger, addedBy: third.id })
    const again = reapply(inNameOfThird, revoked, { authority: { self: third, root: undefined }, nowMs })
    expect([...(again?.members.keys() ?? [])]).toEqual([founder.id, third.id])
    expect([...(again?.revoked.keys() ?? [])]).toEqual([second.id, identityOf(5).id])
  })

  it('takes the same of two revisions with one number, whichever comes first', () => {
    const base = added(village, second.id, 'anchor')
    const [mine, theirs] = [added(base, third.id, 'member'), added(base, identityOf(5).id, 'member', bySecond)]
    const [winner, loser] = mine.digest > theirs.digest ? [mine, theirs] : [theirs, mine]
    expect(supersede(loser, winner).ok).toBe(true)
    expect(supersede(winner, loser)).toMatchObject({ fault: { kind: 'not-newer' } })
    const again = reapply(loser, winner, loser === mine ? byRoot : bySecond)
    expect([...(again?.members.keys() ?? [])]).toEqual(expect.arrayContaining([third.id, identityOf(5).id]))
    expect(again?.revision).toBe(4)
  })
})

/** The same list under any number, as somebody would sign it who keeps to no rule. */
function renumbered(community: Community, revision: number, signer: NodeIdentity): Community {
  const { signature: _, ...document } = community.document as JsonObject & { type: string }
  return value(readCommunity(signDocument({ ...document, revision, signed_by: signer.id }, signer), community.id))
}

function added(
  community: Community,
  nodeId: string,
  level: Level,
  by: typeof byRoot | typeof bySecond = byRoot,
): Community {
  return value(withMember(community, memberOf(nodeId, level), by))
}

function memberOf(nodeId: string, level: Level): { nodeId: string; name: string; level: Level } {
  return { nodeId, name: `node-${nodeId.slice(8, 12).toLowerCase()}`, level }
}

function value(result: Result<Community, CommunityFault>): Community {
  if (!result.ok) throw new Error(JSON.stringify(result.fault))
  return result.value
}
