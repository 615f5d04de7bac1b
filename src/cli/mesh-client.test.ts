import { generateKeyPairSync } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseConfig } from '../config/config-file.ts'
import { takeProcessLock } from '../core/process-lock-store.ts'
import { loadExistingNodeKey } from '../ledger/key-store.ts'
import { admitMember } from '../mesh/identity/community.ts'
import type { Community } from '../mesh/identity/community.ts'
import { deriveMeshDatabaseSealKey } from '../main/membership-log.ts'
import { MeshStore } from '../mesh/identity/mesh-store.ts'
import { deriveNodeIdentity } from '../mesh/identity/node-key.ts'
import { createOwnCommunity, inviteNode, joinCommunity, listMembers, findMemberIds } from './mesh-client.ts'
import type { MeshCommandContext } from './mesh-client.ts'
import { leaveCommunity } from './mesh-leaving-client.ts'

const [ATTIC, CELLAR, GUEST] = ['node:aaaa', 'node:bbbb', 'node:cccc']

function community(names: Readonly<Record<string, string>>): Pick<Community, 'members'> {
  const members = Object.entries(names).map(([nodeId, name]) => {
    const at = '2026-01-01T00:00:00.000Z'
    const admitted = { level: 'member', addedAt: at, addedBy: ATTIC, certificate: undefined } as const
    return [nodeId, { nodeId, name, ...admitted }] as const
  })
  return { members: new Map(members) }
}

describe('mesh members looked up by name', () => {
  it('are found by node id or by name, and an unknown name finds none', () => {
    const documents = community({ [ATTIC]: 'attic', [CELLAR]: 'cellar' })
    expect([
      findMemberIds(documents, CELLAR),
      findMemberIds(documents, 'attic'),
      findMemberIds(documents, 'shed'),
    ]).toEqual([[CELLAR], [ATTIC], []])
  })

  it('are all returned when several share the name', () => {
    expect(findMemberIds(community({ [ATTIC]: 'attic', [GUEST]: 'attic' }), 'attic')).toEqual([ATTIC, GUEST])
  })

  it('are found by node id even if another node uses that id as its name', () => {
    expect(findMemberIds(community({ [GUEST]: CELLAR, [CELLAR]: 'cellar' }), CELLAR)).toEqual([CELLAR])
  })
})

describe('hearthbus mesh init and invite', () => {
  const HINT = 'Set mesh.enabled in the configuration, or it has no effect.'

  it.each([
    ['', true],
    ['mesh: { enabled: true }', false],
  ])('with the configuration %j warn that mesh.enabled is not set: %s', async (written, isWarned) => {
    const config = parseConfig('inline', written)
    if (!config.ok) throw new Error('the configuration is wrong')
    const dataRoot = mkdtempSync(join(tmpdir(), 'hearthbus-mesh-client-'))
    const command = { config: config.value, dataRoot, name: 'attic' }
    const founded = await createOwnCommunity(command, 'family')
    const invited = await inviteNode(command, { level: 'member', minutes: 60 })
    expect([founded.text.includes(HINT), invited.text.includes(HINT)]).toEqual([isWarned, isWarned])
  })
})

describe('hearthbus mesh leave', () => {
  const LEAVE = { abandon: false }

  it('is suggested to a node that founded a community by mistake, and lets it found or join another', async () => {
    const [home, site] = [newNode('home'), newNode('site')]
    await createOwnCommunity(home, 'family')
    await createOwnCommunity(site, 'mistake')
    expect((await createOwnCommunity(site, 'again')).text).toBe(
      'This node belongs to mistake already. To leave that one first: hearthbus mesh leave.',
    )
    expect((await joinCommunity(site, await invitationOf(home))).text).toBe(
      'This node belongs to mistake already; one node belongs to one community. To leave that one first: hearthbus mesh leave.',
    )
    const key = readFileSync(join(site.dataRoot, 'keys', 'community.key'), 'utf8')
    const left = await leaveCommunity(site, LEAVE)
    expect(left.text).toMatch(/^This node has left mistake\.\n/)
    expect((await listMembers(site)).text).toMatch(/^This node belongs to no community/)
    // Put aside under the name of the community, and not the key of the next one.
    const aside = readdirSync(join(site.dataRoot, 'keys')).find((name) => name.startsWith('community.key.')) ?? ''
    expect(readFileSync(join(site.dataRoot, 'keys', aside), 'utf8')).toBe(key)
    await createOwnCommunity(site, 'another')
    expect(readFileSync(join(site.dataRoot, 'keys', 'community.key'), 'utf8')).not.toBe(key)
    expect((await listMembers(site)).text).toMatch(/^another, revision 1/)
  })

  it('keeps the node id', async () => {
    const site = newNode('site')
    await createOwnCommunity(site, 'first')
    const before = readFileSync(join(site.dataRoot, 'keys', 'node.key'), 'utf8')
    await leaveCommunity(site, LEAVE)
    expect(readFileSync(join(site.dataRoot, 'keys', 'node.key'), 'utf8')).toBe(before)
  })

  it('needs --abandon when other nodes are in a community that this node founded', async () => {
    const home = newNode('home')
    await createOwnCommunity(home, 'family')
    await admit(home)
    const refused = await leaveCommunity(home, LEAVE)
    expect(refused).toMatchObject({
      exit: 1,
      text: expect.stringMatching(/^This node founded family and holds its root key/),
    })
    expect(existsSync(join(home.dataRoot, 'keys', 'community.key'))).toBe(true)
    expect((await leaveCommunity(home, { abandon: true })).text).toMatch(
      /The others have not been told.*\nThe root key of family is now .*community\.key\./,
    )
  })

  it('is refused without a community, and while the gateway runs', async () => {
    const nobody = newNode('nobody')
    expect((await leaveCommunity(nobody, LEAVE)).text).toMatch(/^This node belongs to no community/)
    expect(existsSync(join(nobody.dataRoot, 'mesh.db'))).toBe(false)
    await createOwnCommunity(nobody, 'somebody')
    const lock = takeProcessLock(join(nobody.dataRoot, 'gateway.lock'))
    expect((await leaveCommunity(nobody, LEAVE)).text).toMatch(/^The gateway of this node runs\. Stop it first/)
    lock?.release()
  })
})

function newNode(name: string): MeshCommandContext {
  const config = parseConfig('inline', 'mesh: { enabled: true }')
  if (!config.ok) throw new Error('the configuration is wrong')
  return { config: config.value, dataRoot: mkdtempSync(join(tmpdir(), 'hearthbus-mesh-client-')), name }
}

async function invitationOf(command: MeshCommandContext): Promise<string> {
  const { json } = await inviteNode(command, { level: 'member', minutes: 60 })
  return (json as { invitation: string }).invitation
}

/** Lets a node in that is nowhere. */
async function admit({ dataRoot }: MeshCommandContext): Promise<void> {
  const root = await loadExistingNodeKey(join(dataRoot, 'keys', 'community.key'))
  const self = await loadExistingNodeKey(join(dataRoot, 'keys', 'node.key'))
  if (!root.ok || !self.ok) throw new Error('there are no keys')
  const store = new MeshStore(join(dataRoot, 'mesh.db'), { sealKey: deriveMeshDatabaseSealKey(self.value.privateKey) })
  const authority = { self: deriveNodeIdentity(self.value.privateKey), root: deriveNodeIdentity(root.value.privateKey) }
  const guest = {
    nodeId: deriveNodeIdentity(generateKeyPairSync('ed25519').privateKey).id,
    name: 'guest',
    level: 'member',
  } as const
  const decided = await store.decide((current) => admitMember(current, guest, { authority, nowMs: Date.now() }))
  if (!decided.ok) throw new Error(decided.fault.kind)
  store.close()
}
