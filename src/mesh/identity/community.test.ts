import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { identityOf, NEW_YEAR_MS, vectors } from '../../../test/mesh-keys.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Result } from '../../core/result.ts'
import {
  createCommunity,
  mergeCommunities,
  parseCommunityDocument,
  revokeMembersByReusedInvitation,
  findMemberStanding,
  admitMember,
  revokeMember,
} from './community.ts'
import type { Community, CommunityFault } from './community.ts'
import type { MembershipLevel } from './membership-record.ts'
import type { NodeIdentity } from './node-key.ts'
import { signDocument } from './signed-document.ts'

const [founder, root, second, third] = [identityOf(1), identityOf(2), identityOf(3), identityOf(4)]
const nowMs = NEW_YEAR_MS
const byRoot = { authority: { self: founder, root }, nowMs }
const byFounder = { authority: { self: founder, root: undefined }, nowMs }
const bySecond = { authority: { self: second, root: undefined }, nowMs }
const village = createCommunity({ name: 'village', root, founder: { nodeId: founder.id, name: 'cellar' }, nowMs })

describe('community', () => {
  it('matches the published vector when it is created', () => {
    expect(village.document['records']).toEqual([vectors.community.document])
    expect([...village.records.keys()]).toEqual([vectors.community.digest])
    expect(village.id).toBe(root.id)
    expect(findMemberStanding(village, founder.id)).toEqual({ kind: 'member', level: 'anchor' })
    expect(findMemberStanding(village, second.id)).toEqual({ kind: 'stranger' })
    // What nodes before version 2 held is a set of one record.
    expect(value(parseCommunityDocument(vectors.community.document, root.id)).digest).toBe(village.digest)
  })

  it('admits members whom an anchor signed', () => {
    const grown = added(added(village, second.id, 'anchor'), third.id, 'member', bySecond)
    expect(grown.revision).toBe(3)
    const read = value(parseCommunityDocument(grown.document, root.id))
    expect(read.members.get(third.id)).toMatchObject({ level: 'member', addedBy: second.id })
    expect(read.digest).toBe(grown.digest)
  })

  it('refuses an admission signed by a plain member, made here or received', () => {
    const grown = added(village, second.id, 'trusted')
    expect(admitMember(grown, memberOf(third.id, 'member'), bySecond)).toMatchObject({
      fault: { kind: 'no-authority' },
    })
    const forged = withForged(grown, { ...admissionOf(third.id, 'member'), signed_by: second.id }, second)
    expect(parseCommunityDocument(forged, root.id)).toMatchObject({ fault: { kind: 'no-authority' } })
  })

  it('accepts anchors only if the root admitted them', () => {
    const grown = added(village, second.id, 'anchor')
    expect(admitMember(grown, memberOf(third.id, 'anchor'), bySecond)).toMatchObject({
      fault: { kind: 'no-authority' },
    })
    const forged = withForged(grown, { ...admissionOf(third.id, 'anchor'), signed_by: second.id }, second)
    expect(parseCommunityDocument(forged, root.id)).toMatchObject({ fault: { kind: 'bad-signature' } })
  })

  it('refuses a document with another community id, and a record with a changed field', () => {
    expect(parseCommunityDocument(village.document, second.id)).toMatchObject({ fault: { kind: 'foreign' } })
    const [founding] = village.document['records'] as JsonObject[]
    for (const changed of [
      { ...founding, name: 'town' },
      { ...founding, signed_by: second.id },
    ])
      expect(parseCommunityDocument({ ...village.document, records: [changed] }, root.id).ok).toBe(false)
  })

  it('keeps a revocation permanently, in any order of merging', () => {
    const grown = added(added(village, second.id, 'anchor'), third.id, 'member')
    const revoked = value(revokeMember(grown, third.id, byRoot))
    const again = added(grown, third.id, 'trusted', bySecond)
    for (const merged of [merge(revoked, again), merge(again, revoked)])
      expect(findMemberStanding(merged, third.id)).toEqual({ kind: 'revoked' })
  })

  it('ignores what a revoked anchor signed after its revocation and keeps what it signed before', () => {
    const grown = added(added(village, second.id, 'anchor'), third.id, 'member', bySecond)
    const revoked = value(revokeMember(grown, second.id, byRoot))
    let coup = added(grown, identityOf(5).id, 'member', bySecond)
    for (const nodeId of [founder.id, third.id]) coup = value(revokeMember(coup, nodeId, bySecond))
    for (const merged of [merge(revoked, coup), merge(coup, revoked)]) {
      expect([...merged.members.keys()].toSorted()).toEqual([founder.id, third.id].toSorted())
      expect([...merged.revoked.keys()]).toEqual([second.id])
    }
  })

  it('ignores admissions by a revoked anchor, even if it or a second revoked anchor vouches for it', () => {
    const base = added(added(village, second.id, 'anchor'), third.id, 'anchor')
    let out = value(revokeMember(base, second.id, byFounder))
    out = value(revokeMember(out, third.id, byFounder))
    const evil = added(base, identityOf(6).id, 'member', bySecond)
    const itself = value(revokeMember(evil, second.id, bySecond))
    const each = value(revokeMember(evil, second.id, { authority: { self: third, root: undefined }, nowMs }))
    expect(findMemberStanding(merge(out, itself), identityOf(6).id).kind).toBe('stranger')
    expect(findMemberStanding(merge(out, each), identityOf(6).id).kind).toBe('stranger')
  })

  it('detects a signer restored from an older copy and revokes the second user of one invitation', () => {
    const invitation = 'only-once'
    const used = value(admitMember(village, { ...memberOf(second.id, 'member'), invitation }, byRoot))
    const later = { ...byRoot, nowMs: nowMs + 60_000 }
    const again = value(admitMember(village, { ...memberOf(third.id, 'member'), invitation }, later))
    const merged = merge(again, used)
    expect(merged.digest).toBe(merge(used, again).digest)
    expect(merged.forks).toMatchObject([{ signer: root.id, number: 1 }])
    expect(merged.invitations.get(invitation)?.map(({ nodeId }) => nodeId)).toEqual([second.id, third.id])
    const settled = revokeMembersByReusedInvitation(merged, later)
    expect(findMemberStanding(settled, second.id).kind).toBe('member')
    expect(findMemberStanding(settled, third.id).kind).toBe('revoked')
    // Nobody else signs for the issuer.
    expect(revokeMembersByReusedInvitation(merged, bySecond)).toBe(merged)
  })

  it('merges to the same result in any order, and loses members by revocation only', () => {
    const people = [3, 4, 5, 6, 7, 8].map(identityOf)
    const anchored = added(added(village, second.id, 'anchor'), third.id, 'anchor')
    const deciders = [byRoot, bySecond, { authority: { self: third, root: undefined }, nowMs }]
    const step = fc.record({
      node: fc.nat(2),
      by: fc.nat(2),
      whom: fc.nat(people.length - 1),
      what: fc.constantFrom('admit', 'revoke', 'merge', 'restore'),
      from: fc.nat(2),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 24 }), fc.integer(), (steps, seed) => {
        const held = [anchored, anchored, anchored]
        const copies = [anchored, anchored, anchored]
        const all: Community[] = [anchored]
        const lost: string[] = []
        for (const { node, by, whom, what, from } of steps) {
          const [current = anchored, context = byRoot, person = second] = [held[node], deciders[by], people[whom]]
          const changed =
            what === 'restore'
              ? (copies[node] ?? anchored)
              : what === 'merge'
                ? merge(current, held[from] ?? anchored)
                : orSame(
                    current,
                    what === 'admit'
                      ? admitMember(current, memberOf(person.id, 'member'), context)
                      : revokeMember(current, person.id, context),
                  )
          if (what === 'merge') {
            copies[node] = current
            // Nobody is lost whom no revocation names, and whom no revoked anchor let in after its end.
            for (const { nodeId, addedBy } of current.members.values())
              if (!changed.members.has(nodeId) && !changed.revoked.has(nodeId) && !changed.revoked.has(addedBy))
                lost.push(nodeId)
          }
          held[node] = changed
          all.push(changed)
        }
        expect(lost).toEqual([])
        const shuffled = all.toSorted((left, right) => rank(left, seed) - rank(right, seed))
        const [one, other] = [all, shuffled].map((list) => list.reduce(merge))
        expect(other?.digest).toBe(one?.digest)
        expect([...(other?.members ?? [])]).toEqual([...(one?.members ?? [])])
        expect(other?.revoked).toEqual(one?.revoked)
        expect(value(parseCommunityDocument(one?.document, root.id)).digest).toBe(one?.digest)
      }),
      { numRuns: 60 },
    )
  })
})

function rank({ digest }: Community, seed: number): number {
  return (Number.parseInt(digest.slice(0, 8), 16) ^ seed) >>> 0
}

function merge(held: Community, next: Community): Community {
  return orSame(held, mergeCommunities(held, next))
}

function orSame(held: Community, changed: Result<Community, CommunityFault>): Community {
  return changed.ok ? changed.value : held
}

function admissionOf(nodeId: string, level: MembershipLevel): JsonObject & { type: string } {
  const { name } = memberOf(nodeId, level)
  const added = { added_at: '2026-01-01T00:00:00Z', number: 9 }
  return { type: 'admission', version: 1, community_id: root.id, node_id: nodeId, name, level, ...added }
}

/** As somebody would write it who keeps to no rule. */
function withForged(community: Community, record: JsonObject & { type: string }, signer: NodeIdentity): JsonObject {
  const records = community.document['records'] as JsonObject[]
  return { ...community.document, records: [...records, signDocument(record, signer)] }
}

function added(
  community: Community,
  nodeId: string,
  level: MembershipLevel,
  by: typeof byRoot | typeof bySecond = byRoot,
): Community {
  return value(admitMember(community, memberOf(nodeId, level), by))
}

function memberOf(nodeId: string, level: MembershipLevel): { nodeId: string; name: string; level: MembershipLevel } {
  return { nodeId, name: `node-${nodeId.slice(8, 12).toLowerCase()}`, level }
}

function value(result: Result<Community, CommunityFault>): Community {
  if (!result.ok) throw new Error(JSON.stringify(result.fault))
  return result.value
}
