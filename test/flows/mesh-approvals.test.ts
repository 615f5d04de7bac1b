/** A call to another node that a person there has to approve: the caller hears where, the person hears from whom. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readCommandSync } from '../gateway-process.ts'
import { callerIn } from '../mesh-attack-wire.ts'
import { call, cli, closeAll, formCommunity } from '../mesh-house.ts'
import type { CallAnswer, MeshNode } from '../mesh-house.ts'

let nodes: readonly MeshNode[] = []
beforeAll(async () => {
  nodes = await formCommunity(['cellar', 'attic'])
})
afterAll(() => closeAll(nodes))

describe('a call that needs an approval on another node', () => {
  it('names that node, and is shown there with the name of the calling node', async () => {
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
    expect(readCommandSync(attic.home, 'approvals')).toContain(
      `asked by  local, says the node cellar (peer:${cellar.nodeId}/local)`,
    )
    const asked = { id, askedBy: 'cellar', askedFor: 'local' }
    expect(cli(attic.home, 'approvals', 'show', id)).toMatchObject({ ...asked, state: 'requested' })
    expect(cli(attic.home, 'approvals', 'approve', id)).toMatchObject({ ...asked, state: 'approved' })
  })

  it('is approved for the one agent that asked, or for all agents of its node by a grant to the node', async () => {
    const [cellar, attic] = nodes
    if (cellar === undefined || attic === undefined) throw new Error('two nodes were to be made')
    const agents = ['claude', 'gpt'].map((name) => {
      const { token } = cli(cellar.home, 'token', 'create', name, '--role', 'agent')
      return (x: number): Promise<CallAnswer> => call(cellar, 'test.door.attic', { x }, { token: String(token) })
    })
    const [claude, gpt] = agents
    if (claude === undefined || gpt === undefined) throw new Error('two agents were to be made')
    const idOf = ({ structured }: CallAnswer): string => String(structured.error?.['approval_id'])
    const outcomes = async (x: number): Promise<readonly string[]> => [
      (await claude(x)).outcome,
      (await gpt(x)).outcome,
    ]
    // Nobody in the cellar minds: the uses of these grants come back while the attic asks its own people.
    const plenty = ['--uses', '2', '--minutes', '10', '--bounds', '{"x":{"min":0,"max":99}}']
    for (const agent of agents) cli(cellar.home, 'approvals', 'approve', idOf(await agent(0)), ...plenty)

    const claudes = idOf(await claude(2))
    const gpts = idOf(await gpt(2))
    expect(claudes).not.toBe(gpts)
    expect(cli(attic.home, 'approvals', 'show', claudes)).toMatchObject({ askedBy: 'cellar', askedFor: 'claude' })
    cli(attic.home, 'approvals', 'approve', claudes)
    expect(idOf(await gpt(2))).toBe(gpts)
    const opened = await claude(2)
    expect(opened.outcome).toBe('ok')
    expect(await callerIn(attic, opened.traceId)).toBe(`peer:${cellar.nodeId}/claude`)
    expect(await callerIn(cellar, opened.traceId)).toBe('claude')

    cli(attic.home, 'approvals', 'deny', gpts, 'not', 'you')
    expect((await gpt(2)).structured.error).toMatchObject({ message: expect.stringContaining('not you') })

    const third = idOf(await gpt(3))
    cli(attic.home, 'approvals', 'approve', third, '--uses', '5', '--minutes', '10', '--whole-node')
    expect(await outcomes(3)).toEqual(['ok', 'ok'])
  })
})
