import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { identityOf, NEW_YEAR_MS, vectors } from '../../../test/mesh-keys.ts'
import { createCommunity, admitMember } from './community.ts'
import { createJoinRequest, decodeSignedInvitation, parseJoinRequest, encodeSignedInvitation } from './invitation.ts'
import type { Invitation, JoinRequest } from './invitation.ts'
import { MeshStore } from './mesh-store.ts'

const [issuer, root, joiner, thief] = [identityOf(1), identityOf(2), identityOf(3), identityOf(4)]
const nowMs = NEW_YEAR_MS
const context = { authority: { self: issuer, root }, nowMs }
const invitation: Invitation = {
  id: '01JGFJJZ00BAA6K3XEY2QKD4AB',
  communityId: root.id,
  communityName: 'village',
  issuer: issuer.id,
  level: 'trusted',
  expiresAtMs: nowMs + 3_600_000,
  secret: new Uint8Array(32).fill(9),
  addresses: ['192.0.2.7:7080'],
}

const SEAL_KEY = new Uint8Array(32)

describe('invitation', () => {
  it('matches the published text and decodes to the same invitation', () => {
    expect(encodeSignedInvitation(invitation, issuer)).toBe(vectors.invitation)
    expect(decodeSignedInvitation(vectors.invitation, nowMs)).toEqual({ ok: true, value: invitation })
  })

  it('does not decode when any one character was changed', () => {
    const unnoticed = Array.from(vectors.invitation, (character, at) => {
      const changed = character === 'A' ? 'B' : 'A'
      return vectors.invitation.slice(0, at) + changed + vectors.invitation.slice(at + 1)
    }).filter((damaged) => decodeSignedInvitation(damaged, nowMs).ok)
    expect(unnoticed).toEqual([])
  })

  it('does not decode after it has expired', () => {
    expect(decodeSignedInvitation(vectors.invitation, nowMs + 3_700_000)).toEqual({
      ok: false,
      fault: { kind: 'expired' },
    })
  })
})

describe('mesh store', () => {
  let folder: string
  let store: MeshStore

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'hearthbus-mesh-'))
    store = new MeshStore(join(folder, 'mesh.db'), { sealKey: SEAL_KEY })
    await store.accept(
      createCommunity({ name: 'village', root, founder: { nodeId: issuer.id, name: 'cellar' }, nowMs }),
    )
    await store.invitations.add(invitation, nowMs)
  })

  afterEach(() => {
    store.close()
    rmSync(folder, { recursive: true })
  })

  it('admits one node per invitation, and gives the same answer when that node asks again', async () => {
    const [first, again] = [await store.admitJoiner(request(), context), await store.admitJoiner(request(), context)]
    expect(first.ok && first.value.members.get(joiner.id)?.level).toBe('trusted')
    expect(again).toEqual(first)
    const late = requestFrom(thief, 'attic')
    expect(await store.admitJoiner(late, context)).toMatchObject({ fault: { kind: 'used-invitation' } })
  })

  it('refuses a joiner without the secret, and a proof that was made for another node key', async () => {
    const guessed = read(
      createJoinRequest({ ...invitation, secret: new Uint8Array(32) }, { identity: thief, name: 'attic' }),
    )
    expect(await store.admitJoiner(guessed, context)).toMatchObject({ fault: { kind: 'wrong-proof' } })
    const seen = createJoinRequest(invitation, { identity: joiner, name: 'attic' })
    const stolen = createJoinRequest({ ...invitation, secret: new Uint8Array(32) }, { identity: thief, name: 'attic' })
    const grafted = read({ ...stolen, proof: seen['proof'] ?? '' })
    expect(await store.admitJoiner(grafted, context)).toMatchObject({ fault: { kind: 'wrong-proof' } })
  })

  it('refuses an expired invitation, an unknown invitation, and a node name that is taken', async () => {
    const late = { ...context, nowMs: nowMs + 3_600_001 }
    expect(await store.admitJoiner(request(), late)).toMatchObject({ fault: { kind: 'expired-invitation' } })
    const unknown = read(
      createJoinRequest({ ...invitation, id: '01JGFJJZ00BAA6K3XEY2QKD4AC' }, { identity: joiner, name: 'attic' }),
    )
    expect(await store.admitJoiner(unknown, context)).toMatchObject({ fault: { kind: 'unknown-invitation' } })
    const namesake = requestFrom(joiner, 'cellar')
    expect(await store.admitJoiner(namesake, context)).toMatchObject({ fault: { kind: 'name-taken' } })
  })

  it('keeps unexpired invitations when another is added, and deletes those expired a day ago', async () => {
    const day = 86_400_000
    await store.invitations.add({ ...invitation, id: 'for two days', expiresAtMs: nowMs + 2 * day }, nowMs)
    expect((await store.admitJoiner(request(), context)).ok).toBe(true)
    await store.invitations.add({ ...invitation, id: 'much later' }, invitation.expiresAtMs + day + 1)
    expect(await store.admitJoiner(request(), context)).toMatchObject({ fault: { kind: 'unknown-invitation' } })
  })

  it('sees changes that another process wrote, and adds to them', async () => {
    const beside = new MeshStore(join(folder, 'mesh.db'), { sealKey: SEAL_KEY })
    await beside.decide((held) => admitMember(held, { nodeId: thief.id, name: 'shed', level: 'member' }, context))
    beside.close()
    store.refresh()
    expect(store.community()?.revision).toBe(2)
    const joined = await store.admitJoiner(request(), context)
    expect(joined.ok && [...joined.value.members.keys()]).toEqual(
      expect.arrayContaining([issuer.id, thief.id, joiner.id]),
    )
  })

  it('never reuses a sequence number, even after a restart', async () => {
    const before = await store.reserveSequence()
    store.close()
    store = new MeshStore(join(folder, 'mesh.db'), { sealKey: SEAL_KEY })
    const manifestsOfTwentyYears = (20 * 365 * 86_400) / 10
    const next = await store.reserveSequence()
    expect(next).toBeGreaterThan(before + manifestsOfTwentyYears)
    expect(next).toBe(before + 1_000_000_000)
  })

  it('stores the last known addresses of peers', async () => {
    const peers = [{ nodeId: joiner.id, addresses: ['192.0.2.9:7080'], name: 'barn' }]
    await store.peers.save(peers, nowMs)
    expect(store.peers.list()).toEqual(peers)
  })
})

function request(): JoinRequest {
  return requestFrom(joiner, 'attic')
}

function requestFrom(identity: typeof joiner, name: string): JoinRequest {
  return read(createJoinRequest(invitation, { identity, name }))
}

function read(value: unknown): JoinRequest {
  const parsed = parseJoinRequest(value)
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.fault))
  return parsed.value
}
