/** A call to another node that a person there has to approve: the caller hears where, the person hears from whom. */
import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CLI } from '../gateway-process.ts'
import { call, cli, closeAll, formCommunity } from '../mesh-house.ts'
import type { CallAnswer, MeshNode } from '../mesh-house.ts'

let nodes: readonly MeshNode[] = []
beforeAll(async () => {
  nodes = await formCommunity(['cellar', 'attic'])
})
afterAll(() => closeAll(nodes))

describe('a call that waits on another node', () => {
  it('says on which, and is shown there with the name of the node that asked', async () => {
    const [cellar, attic] = nodes
    if (cellar === undefined || attic === undefined) throw new Error('two nodes were to be made')
    const open = (): Promise<CallAnswer> => call(cellar, 'test.door.attic', { x: 1 })
    // This node's own owner is asked first, here.
    const here = (await open()).structured.error
    expect(here).toMatchObject({ how: expect.stringMatching(/^hearthbus approvals approve /) })
    cli(cellar.home, 'approvals', 'approve', String(here?.['approval_id']))

    const { outcome, structured } = await open()
    const id = String(structured.error?.['approval_id'])
    expect(outcome).toBe('denied')
    expect(structured.error).toMatchObject({
      node: attic.nodeId,
      node_name: 'attic',
      how: `on the node attic: hearthbus approvals approve ${id}`,
      message: expect.stringMatching(/ It waits on the node attic, not on this one\.$/),
    })
    const { stdout } = spawnSync(process.execPath, [CLI, '--data', attic.home.data, 'approvals'], { encoding: 'utf8' })
    expect(stdout).toContain(`asked by  the node cellar (peer:${cellar.nodeId})`)
    expect(cli(attic.home, 'approvals', 'show', id)).toMatchObject({ id, state: 'requested', askedBy: 'cellar' })
    expect(cli(attic.home, 'approvals', 'approve', id)).toMatchObject({ state: 'approved', askedBy: 'cellar' })
  })
})
