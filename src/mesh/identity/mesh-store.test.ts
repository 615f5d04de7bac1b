import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { identityOf, NEW_YEAR_MS } from '../../../test/mesh-keys.ts'
import type { Result } from '../../core/result.ts'
import { createCommunity, findMemberStanding, admitMember, revokeMember } from './community.ts'
import type { Community } from './community.ts'
import { createJoinRequest, parseJoinRequest } from './invitation.ts'
import type { Invitation, JoinRequest } from './invitation.ts'
import { MeshStore } from './mesh-store.ts'
import type { NodeIdentity } from './node-key.ts'

const [founder, root, traitor] = [identityOf(1), identityOf(2), identityOf(3)]
const [anchor, member] = [identityOf(4), identityOf(5)]
const nowMs = NEW_YEAR_MS
const asRoot = { authority: { self: founder, root }, nowMs }
const as = (self: NodeIdentity) => ({ authority: { self, root: undefined }, nowMs })

/** Revision 4: the founder, two anchors and a member. */
const village = [
  { nodeId: traitor.id, name: 'shed', level: 'anchor' as const },
  { nodeId: anchor.id, name: 'attic', level: 'anchor' as const },
  { nodeId: member.id, name: 'hall', level: 'member' as const },
].reduce(
  (list, node) => value(admitMember(list, node, asRoot)),
  createCommunity({ name: 'village', root, founder: { nodeId: founder.id, name: 'cellar' }, nowMs }),
)

const SEAL_KEY = new Uint8Array(32)

describe('merging a member list from another node', () => {
  let folder: string
  const stores: MeshStore[] = []

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'hearthbus-mesh-'))
  })

  afterEach(() => {
    for (const store of stores.splice(0)) store.close()
    rmSync(folder, { recursive: true })
  })

  async function holding(name: string, list: Community): Promise<MeshStore> {
    const store = new MeshStore(join(folder, `${name}.db`), { sealKey: SEAL_KEY })
    stores.push(store)
    value(await store.accept(list))
    return store
  }

  /** Of what it leaves in `copy.db`, what happens later is missing. */
  async function inviting(): Promise<MeshStore> {
    const first = await holding('home', village)
    await first.invitations.add(invitation, nowMs)
    stores.splice(stores.indexOf(first), 1)
    first.close()
    copyFileSync(join(folder, 'home.db'), join(folder, 'copy.db'))
    const store = new MeshStore(join(folder, 'home.db'), { sealKey: SEAL_KEY })
    stores.push(store)
    return store
  }

  it('ignores changes by a revoked anchor, and passes the revocation on to a node that accepted them', async () => {
    const [home, other] = [await holding('home', village), await holding('other', village)]
    const coup = value(revokeMember(village, member.id, as(traitor)))
    value(await other.merge(coup, as(member)))
    value(await home.decide((held) => revokeMember(held, traitor.id, asRoot)))
    value(await home.merge(coup, asRoot))
    value(await other.merge(heldBy(home), as(member)))
    for (const store of [home, other]) {
      expect(findMemberStanding(heldBy(store), traitor.id)).toEqual({ kind: 'revoked' })
      expect(findMemberStanding(heldBy(store), member.id)).toEqual({ kind: 'member', level: 'member' })
    }
  })

  it('keeps the union of both lists, also after the store is reopened', async () => {
    const store = await holding('home', village)
    const theirs = value(admitMember(village, { nodeId: identityOf(6).id, name: 'barn', level: 'member' }, as(anchor)))
    value(await store.decide((held) => revokeMember(held, member.id, asRoot)))
    const merged = value(await store.merge(theirs, asRoot))
    expect([merged.revision, merged.members.has(identityOf(6).id), merged.members.has(member.id)]).toEqual([
      6,
      true,
      false,
    ])
    expect(await store.merge(theirs, asRoot)).toMatchObject({ fault: { kind: 'not-newer' } })
    const again = new MeshStore(join(folder, 'home.db'), { sealKey: SEAL_KEY })
    stores.push(again)
    expect(again.community()?.digest).toBe(merged.digest)
  })

  it('makes a restored store refuse an invitation that the other node knows to be used', async () => {
    const [home, attic] = [await inviting(), await holding('attic', village)]
    value(await attic.accept(value(await home.admitJoiner(request(identityOf(6), 'barn'), asRoot))))
    const restored = new MeshStore(join(folder, 'copy.db'), { sealKey: SEAL_KEY })
    stores.push(restored)
    value(await restored.merge(heldBy(attic), asRoot))
    expect(await restored.admitJoiner(request(identityOf(7), 'mill'), asRoot)).toMatchObject({
      fault: { kind: 'used-invitation' },
    })
    expect(findMemberStanding(heldBy(restored), identityOf(6).id).kind).toBe('member')
  })

  it('makes a restored issuer revoke the node that it admitted with a used invitation', async () => {
    const home = await inviting()
    const used = value(await home.admitJoiner(request(identityOf(6), 'barn'), asRoot))
    const restored = new MeshStore(join(folder, 'copy.db'), { sealKey: SEAL_KEY })
    stores.push(restored)
    const later = { ...asRoot, nowMs: nowMs + 60_000 }
    value(await restored.admitJoiner(request(identityOf(7), 'mill'), later))
    const healed = value(await restored.merge(used, later))
    expect(findMemberStanding(healed, identityOf(6).id).kind).toBe('member')
    expect(findMemberStanding(healed, identityOf(7).id).kind).toBe('revoked')
    expect(healed.forks).toHaveLength(1)
  })
})

const invitation: Invitation = {
  id: '01JGFJJZ00BAA6K3XEY2QKD4AB',
  communityId: root.id,
  communityName: 'village',
  issuer: founder.id,
  level: 'trusted',
  expiresAtMs: nowMs + 3_600_000,
  secret: new Uint8Array(32).fill(9),
  addresses: [],
}

function request(identity: NodeIdentity, name: string): JoinRequest {
  return value(parseJoinRequest(createJoinRequest(invitation, { identity, name })))
}

function heldBy(store: MeshStore): Community {
  const held = store.community()
  if (held === undefined) throw new Error('it holds nothing')
  return held
}

function value<Value>(result: Result<Value, unknown>): Value {
  if (!result.ok) throw new Error(JSON.stringify(result.fault))
  return result.value
}
