import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readConfig } from '../config/config-file.ts'
import type { Community } from '../mesh/identity/community.ts'
import { initCommunity, inviteNode, membersCalled } from './mesh-client.ts'

const [ATTIC, CELLAR, GUEST] = ['node:aaaa', 'node:bbbb', 'node:cccc']

function community(names: Readonly<Record<string, string>>): Pick<Community, 'members'> {
  const members = Object.entries(names).map(([nodeId, name]) => {
    const at = '2026-01-01T00:00:00.000Z'
    const admitted = { level: 'member', addedAt: at, addedBy: ATTIC, certificate: undefined } as const
    return [nodeId, { nodeId, name, ...admitted }] as const
  })
  return { members: new Map(members) }
}

describe('members called by a name', () => {
  it('are found by id or by name', () => {
    const house = community({ [ATTIC]: 'attic', [CELLAR]: 'cellar' })
    expect([membersCalled(house, CELLAR), membersCalled(house, 'attic'), membersCalled(house, 'shed')]).toEqual([
      [CELLAR],
      [ATTIC],
      [],
    ])
  })

  it('are all of them where several share it', () => {
    expect(membersCalled(community({ [ATTIC]: 'attic', [GUEST]: 'attic' }), 'attic')).toEqual([ATTIC, GUEST])
  })

  it('are not those that took another node’s id for a name', () => {
    expect(membersCalled(community({ [GUEST]: CELLAR, [CELLAR]: 'cellar' }), CELLAR)).toEqual([CELLAR])
  })
})

describe('founding and inviting', () => {
  const HINT = 'Set mesh.enabled in the configuration, or nothing comes of it.'

  it.each([
    ['', true],
    ['mesh: { enabled: true }', false],
  ])('with the configuration %j say that nothing listens: %s', async (written, isSaid) => {
    const config = readConfig('inline', written)
    if (!config.ok) throw new Error('the configuration is wrong')
    const dataRoot = mkdtempSync(join(tmpdir(), 'hearthbus-mesh-client-'))
    const command = { config: config.value, dataRoot, name: 'attic' }
    const founded = await initCommunity(command, 'family')
    const invited = await inviteNode(command, { level: 'member', minutes: 60 })
    expect([founded.text.includes(HINT), invited.text.includes(HINT)]).toEqual([isSaid, isSaid])
  })
})
