/** Somebody who can write into mesh.db, and has no key of this node, tries to let a node in. */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { identityOf, NEW_YEAR_MS } from '../../../test/mesh-keys.ts'
import { createCommunity, admitMember, revokeMember } from './community.ts'
import { createJoinRequest, readJoinRequest } from './invitation.ts'
import type { Invitation, JoinRequest } from './invitation.ts'
import type { MembershipLog } from './membership-log.ts'
import { MembershipAlteredError, MeshStore } from './mesh-store.ts'

const [issuer, root, joiner, thief] = [identityOf(1), identityOf(2), identityOf(3), identityOf(4)]
const nowMs = NEW_YEAR_MS
const context = { authority: { self: issuer, root }, nowMs }
const sealKey = new Uint8Array(32).fill(7)
const village = createCommunity({ name: 'village', root, founder: { nodeId: issuer.id, name: 'cellar' }, nowMs })
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

/** The node's own log, as far as the store asks it. */
function memoryLog(): MembershipLog {
  const [revisions, used] = [new Map<string, { revision: number; digest: string }>(), new Map<string, string>()]
  return {
    newest: (id) => revisions.get(id),
    record: async ({ id, revision, digest }) => void revisions.set(id, { revision, digest }),
    usedBy: (id) => used.get(id),
    use: async (id, nodeId) => {
      if ((used.get(id) ?? nodeId) !== nodeId) throw new Error('used before')
      used.set(id, nodeId)
    },
    altered: async () => undefined,
  }
}

let folder: string
let path: string
let log: MembershipLog

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hearthbus-mesh-'))
  path = join(folder, 'mesh.db')
  log = memoryLog()
  await working(async (store) => {
    await store.accept(village)
    await store.invitations.add(invitation, nowMs)
  })
})
afterEach(() => rmSync(folder, { recursive: true }))

async function working<Value>(work: (store: MeshStore) => Promise<Value>): Promise<Value> {
  const store = new MeshStore(path, { sealKey, log })
  try {
    return await work(store)
  } finally {
    store.close()
  }
}

function tamper(sql: string): void {
  const file = new DatabaseSync(path)
  file.exec(sql)
  file.close()
}

function request(identity: typeof joiner, name: string): JoinRequest {
  const read = readJoinRequest(createJoinRequest(invitation, { identity, name }))
  if (!read.ok) throw new Error(read.fault.kind)
  return read.value
}

describe('a mesh database that somebody touched', () => {
  it('opens nothing with an invitation that this node did not make', async () => {
    tamper(`UPDATE invitation SET level = 'anchor'`)
    expect(await working((store) => store.admitJoiner(request(joiner, 'hall'), context))).toMatchObject({
      fault: { kind: 'unknown-invitation' },
    })
    tamper(`INSERT INTO invitation SELECT 'forged', secret, level, expires_at_ms, used_by, seal FROM invitation`)
    const forged: JoinRequest = { ...request(joiner, 'hall'), invitationId: 'forged' }
    expect(await working((store) => store.admitJoiner(forged, context))).toMatchObject({
      fault: { kind: 'unknown-invitation' },
    })
  })

  it('lets nobody in a second time with an invitation that was put back', async () => {
    const before = join(folder, 'before.db')
    copyFileSync(path, before)
    expect(await working((store) => store.admitJoiner(request(joiner, 'hall'), context))).toMatchObject({ ok: true })
    const file = new DatabaseSync(path)
    file.exec(`ATTACH '${before}' AS old; DELETE FROM invitation; INSERT INTO invitation SELECT * FROM old.invitation`)
    file.close()
    expect(await working((store) => store.admitJoiner(request(thief, 'shed'), context))).toMatchObject({
      fault: { kind: 'used-invitation' },
    })
  })

  it('is not opened with a member list that does not bear this node’s seal', () => {
    const other = createCommunity({ name: 'gang', root: thief, founder: { nodeId: thief.id, name: 'shed' }, nowMs })
    tamper(`UPDATE fact SET value = '${JSON.stringify(other.document)}' WHERE name = 'community';
      UPDATE fact SET value = '${other.id}' WHERE name = 'community_id'`)
    expect(() => new MeshStore(path, { sealKey, log })).toThrow(MembershipAlteredError)
  })

  it('is not opened with a member list from before somebody was turned away', async () => {
    await working((store) =>
      store.decide((held) => admitMember(held, { nodeId: thief.id, name: 'shed', level: 'member' }, context)),
    )
    const before = join(folder, 'before.db')
    copyFileSync(path, before)
    await working((store) => store.decide((held) => revokeMember(held, thief.id, context)))
    copyFileSync(before, path)
    expect(() => new MeshStore(path, { sealKey, log })).toThrow(/revision 2, and this node has recorded revision 3/)
  })

  it('is not opened with a trigger that somebody planted', () => {
    tamper(`CREATE TRIGGER planted AFTER INSERT ON fact BEGIN DELETE FROM invitation; END`)
    expect(() => new MeshStore(path, { sealKey, log })).toThrow('planted')
  })
})
