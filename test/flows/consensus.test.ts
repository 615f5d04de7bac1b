/**
 * Three gateways in processes of their own and three people: one exact change that several have to agree to. A stranger
 * with Python alone proves it from what the nodes export.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectHttp, connectStdio } from '../gateway-process.ts'
import {
  auditExport,
  castVote,
  finality,
  makePerson,
  openDoor,
  openings,
  ownerToken,
  proposeDoor,
} from '../consensus-house.ts'
import type { ProposedRound } from '../consensus-house.ts'
import { call, cli, closeAll, formCommunity, startAgain, until } from '../mesh-house.ts'
import type { MeshNode } from '../mesh-house.ts'

const PEOPLE = ['anna', 'ben', 'cara']
let nodes: MeshNode[] = []
const tokens = new Map<string, string>()

beforeAll(async () => {
  nodes = [...(await formCommunity(['cellar', 'attic', 'shed']))]
  for (const name of PEOPLE) tokens.set(name, makePerson(at(0), name))
})
afterAll(() => closeAll(nodes))

function at(index: number): MeshNode {
  const node = nodes[index]
  if (node === undefined) throw new Error('three nodes were to be made')
  return node
}

const propose = (x: number, more: object): Promise<ProposedRound> => proposeDoor(at(0), x, more)
const vote = castVote
const owner = ownerToken
const level = async (round: ProposedRound): Promise<string> => (await finality(at(0), round)).level
const open = (x: number): Promise<string> => openDoor(at(0), x)

describe('a quorum of three gateways and three people', () => {
  it('carries out once what two of three people approved, and nothing before', async () => {
    const round = await propose(1, { voters: PEOPLE, need: 2 })
    expect(round).toMatchObject({ need: 2, voters: PEOPLE, status: 'PENDING' })
    expect((await vote(at(0), round, tokens.get('anna'))).structured.data).toMatchObject({
      vote_signed: true,
      level: 'SOFT',
    })
    expect(await open(1)).toBe('denied')
    // An agent's credential never votes, nor does who is asked for nothing.
    for (const token of [undefined, owner(at(0))])
      expect((await vote(at(0), round, token)).structured.error).toMatchObject({
        code: 'HANDLER_ERROR',
        message: expect.stringMatching(/^NOT_A_VOTER: /),
      })
    expect((await vote(at(0), round, tokens.get('anna'), 'no')).structured.error).toMatchObject({
      message: expect.stringMatching(/^EQUIVOCATION: /),
    })
    expect((await vote(at(0), round, tokens.get('ben'))).structured.data).toMatchObject({ level: 'SOFT' })
    expect((await vote(at(0), round, tokens.get('cara'))).structured.data).toMatchObject({ level: 'QUORUM' })
    const outcomes = await Promise.all([open(1), open(1), open(1)])
    expect(outcomes.toSorted()).toEqual(['denied', 'denied', 'ok'])
  })

  it('is denied by a no, and expires', async () => {
    const denied = await propose(2, { voters: PEOPLE, need: 3 })
    await vote(at(0), denied, tokens.get('ben'), 'no')
    expect(await open(2)).toBe('denied')
    expect((await vote(at(0), denied, tokens.get('anna'))).structured.error).toMatchObject({
      message: expect.stringMatching(/^ROUND_CLOSED: /),
    })
    const short = await propose(3, { voters: PEOPLE, need: 2, expires_in_s: 1 })
    await vote(at(0), short, tokens.get('anna'))
    await until('it has lapsed', async () => {
      const { structured } = await call(at(0), 'consensus_finality', { round_id: short.round_id })
      return (structured.data?.['evidence'] as { state?: string } | undefined)?.state === 'expired'
    })
    expect((await vote(at(0), short, tokens.get('ben'))).structured.error).toMatchObject({
      message: expect.stringMatching(/^ROUND_CLOSED: /),
    })
    expect(await open(3)).toBe('denied')
  })

  it('counts the votes of other nodes, also of one that was offline or was killed after it signed', async () => {
    await at(2).kill()
    const round = await propose(4, { voters: ['anna', 'node:attic', 'node:shed'], need: 3 })
    await vote(at(0), round, tokens.get('anna'))
    await until('the attic has heard of the round', async () => {
      await call(at(0), 'consensus_gossip', {})
      const voted = await vote(at(1), round, owner(at(1)))
      return voted.structured.data?.['vote_signed'] === true
    })
    await at(1).kill()
    expect(await open(4)).toBe('denied')
    // The one that was away hears of it when it is back; the one that signed has been heard.
    nodes[2] = await startAgain(at(2))
    await until('the shed has voted', async () => {
      await call(at(0), 'consensus_gossip', {})
      const voted = await vote(at(2), round, owner(at(2)))
      return voted.structured.data !== undefined || /ALREADY/.test(JSON.stringify(voted.structured))
    })
    nodes[1] = await startAgain(at(1))
    await until('it is a quorum', async () => !['PENDING', 'SOFT'].includes(await level(round)))
    expect(await open(4)).toBe('ok')
    expect(await open(4)).toBe('denied')
    await until('others have cosigned it', async () => (await level(round)) === 'HARD')
  })

  it('counts no vote of a node that was revoked during the round', async () => {
    const round = await propose(5, { voters: ['anna', 'ben', 'node:shed'], need: 3 })
    await until('the shed has voted', async () => {
      await call(at(0), 'consensus_gossip', {})
      return (await vote(at(2), round, owner(at(2)))).structured.data?.['vote_signed'] === true
    })
    await until('it has come', async () => (await level(round)) === 'SOFT')
    cli(at(0).home, 'mesh', 'revoke', 'shed')
    await until('the cellar knows it no more', async () => (await at(0).say({ do: 'stats' }))['peers'] === 1)
    for (const name of ['anna', 'ben']) await vote(at(0), round, tokens.get(name))
    expect([await open(5), await level(round)]).toEqual(['denied', 'SOFT'])
  })

  it.each(['modern', 'legacy'] as const)('is available to a %s MCP client over HTTP and stdio', async (era) => {
    const [anna, agent, near] = [
      await connectHttp(at(0).url, era, '/mcp/runtime', tokens.get('anna')),
      await connectHttp(at(0).url, era, '/mcp/runtime'),
      await connectStdio(at(0).home, era, ['--profile', 'runtime']),
    ]
    const x = era === 'modern' ? 10 : 11
    const names = (tools: { name: string }[]): string[] =>
      tools.map(({ name }) => name).filter((name) => name.startsWith('consensus_'))
    const all = ['consensus_finality', 'consensus_gossip', 'consensus_propose', 'consensus_vote']
    expect(names((await near.listTools()).tools).toSorted()).toEqual(all)
    // An approver sees what is for approvers.
    expect(names((await anna.listTools()).tools).toSorted()).toEqual(['consensus_finality', 'consensus_vote'])
    const data = (answer: { structuredContent?: unknown }): Record<string, unknown> =>
      (answer.structuredContent as { data: Record<string, unknown> }).data
    const proposed = await near.callTool({
      name: 'consensus_propose',
      arguments: { tool: 'test.door.cellar', arguments: { x }, voters: ['anna'], need: 1 },
    })
    const { round_id, digest } = data(proposed)
    const said = { name: 'consensus_vote', arguments: { round_id, digest, vote: 'yes' } }
    expect((await agent.callTool(said)).isError).toBe(true)
    expect(data(await anna.callTool(said))).toMatchObject({ vote_signed: true, level: 'QUORUM' })
    expect(data(await near.callTool({ name: 'consensus_finality', arguments: { round_id } }))).toMatchObject({
      votes: [{ voter: 'anna', vote: 'yes' }],
    })
    expect(data(await agent.callTool({ name: 'consensus_gossip', arguments: {} }))).toMatchObject({ conflicts: 0 })
    expect(await agent.callTool({ name: 'consensus_finality', arguments: { round_id: 'none' } })).toMatchObject({
      isError: true,
      structuredContent: {
        ok: false,
        error: { code: 'HANDLER_ERROR', message: expect.stringMatching(/^ROUND_NOT_FOUND: /) },
      },
    })
    for (const client of [anna, agent, near]) await client.close()
  })

  it('can be verified by an outsider from the exported logs', async () => {
    expect(cli(at(0).home, 'ledger', 'verify', '--sample')).toMatchObject({ ok: true, findings: [] })
    const { status, text } = auditExport(at(0))
    expect(text).toMatch(/7 rounds: 4 quorums, 2 used once; [1-4] witnesses drawn, [1-4] cosigned by them, 1 samples/)
    expect(status).toBe(0)
    expect(cli(at(0).home, 'ledger', 'verify')).toMatchObject({ ok: true })
    // And the door was really opened as often as the record says.
    expect([1, 2, 3, 4, 5].map((x) => openings(at(0), x))).toEqual([1, 0, 0, 1, 0])
  })
})
