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
