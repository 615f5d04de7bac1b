import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { identityOf, NEW_YEAR_MS } from '../../../test/mesh-keys.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Result } from '../../core/result.ts'
import { foundCommunity, readCommunity, standingOf, withMember, withoutMember } from './community.ts'
import type { Community } from './community.ts'
import { MeshStore } from './mesh-store.ts'
import type { NodeIdentity } from './node-key.ts'
import { signDocument } from './signed-document.ts'

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
  (list, node) => value(withMember(list, node, asRoot)),
  foundCommunity({ name: 'village', root, founder: { nodeId: founder.id, name: 'cellar' }, nowMs }),
)

const SEAL_KEY = new Uint8Array(32)

describe('a member list that comes from elsewhere', () => {
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

  it('of a revoked anchor is answered by the root with a higher number, which everybody takes', async () => {
    const [home, other] = [await holding('home', village), await holding('other', village)]
    const forged = signed(village, 1_004, traitor)
    expect((await other.merge(forged, as(member))).ok).toBe(true)
    value(await home.decide((held) => withoutMember(held, traitor.id, asRoot)))
    const answer = value(await home.merge(forged, asRoot))
    expect([answer.revision, answer.signedBy]).toEqual([1_005, root.id])
    expect(value(await other.merge(answer, as(member))).revision).toBe(1_005)
    expect(standingOf(heldBy(other), traitor.id)).toEqual({ kind: 'revoked' })
    expect(await other.merge(signed(village, 1_900, traitor), as(member))).toMatchObject({
      fault: { kind: 'no-authority' },
    })
  })

  it('of an anchor that was misled is answered, too, and what that anchor had decided is decided once more', async () => {
    const [home, attic] = [await holding('home', village), await holding('attic', signed(village, 800, traitor))]
    value(await attic.decide((held) => withoutMember(held, member.id, as(anchor))))
    value(await home.decide((held) => withoutMember(held, traitor.id, asRoot)))
    const answer = value(await home.merge(heldBy(attic), asRoot))
    expect(answer.revision).toBe(802)
    const again = value(await attic.merge(answer, as(anchor)))
    expect([...again.revoked.keys()]).toEqual([traitor.id, member.id])
    expect(value(await home.merge(again, asRoot)).digest).toBe(again.digest)
  })

  it('is not answered by who has no root key, nor under a number that leaves too few', async () => {
    const revoked = value(withoutMember(village, traitor.id, asRoot))
    const [home, other] = [await holding('home', revoked), await holding('other', revoked)]
    const refused = { fault: { kind: 'no-authority' } }
    expect(await other.merge(signed(village, 1_000, traitor), as(anchor))).toMatchObject(refused)
    expect(await home.merge(signed(village, 1e15 + 1, traitor), asRoot)).toMatchObject(refused)
    expect(heldBy(home).revision).toBe(5)
  })

  it('is not built upon where numbers end, and the store can be read again', async () => {
    const store = await holding('last', signed(village, Number.MAX_SAFE_INTEGER, traitor))
    const decided = await store.decide((held) => withoutMember(held, member.id, asRoot))
    expect(decided).toMatchObject({ fault: { kind: 'malformed' } })
    const again = new MeshStore(join(folder, 'last.db'), { sealKey: SEAL_KEY })
    stores.push(again)
    expect(again.community()?.revision).toBe(Number.MAX_SAFE_INTEGER)
    expect((await again.merge(value(withoutMember(village, traitor.id, asRoot)), asRoot)).ok).toBe(true)
  })
})

function signed(list: Community, revision: number, signer: NodeIdentity): Community {
  const { signature: _, ...document } = list.document as JsonObject & { type: string }
  return value(readCommunity(signDocument({ ...document, revision, signed_by: signer.id }, signer), list.id))
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
