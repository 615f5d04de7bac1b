/**
 * Mesh flows: what a community of real gateways can do, whichever way its nodes reach each other.
 */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectHttp } from './gateway-process.ts'
import {
  askAsOwner,
  call,
  cli,
  cliIn,
  closeAll,
  executions,
  formCommunity,
  invite,
  settle,
  startAgain,
  startNode,
  until,
} from './mesh-house.ts'
import type { MeshNode, NodeSettings } from './mesh-house.ts'

export function meshFlows(name: string, settings: () => Promise<NodeSettings>): void {
  describe(`three gateways over ${name}`, () => {
    let nodes: readonly MeshNode[] = []
    let how: NodeSettings = {}
    let [cellar, attic, shed]: readonly MeshNode[] = []

    beforeAll(async () => {
      how = await settings()
      nodes = await formCommunity(['cellar', 'attic', 'shed'], how)
      ;[cellar, attic, shed] = nodes
    })

    afterAll(async () => {
      await closeAll(nodes)
      how.network?.remove()
    })

    it('form a community by invitation, and list its members on every node', () => {
      for (const { home } of nodes) {
        const listed = cli(home, 'mesh', 'members')
        expect(listed['name']).toBe('village')
        expect(
          (listed['members'] as { name: string; level: string }[]).map(({ name, level }) => `${name} ${level}`),
        ).toEqual(['cellar anchor', 'attic trusted', 'shed trusted'])
      }
    })

    it('list a capability of another node for an MCP client, under the same name', async () => {
      const client = await connectHttp(node(cellar).url, 'modern')
      const { tools } = await client.listTools()
      expect(tools.map((tool) => tool.name)).toEqual(expect.arrayContaining(['test.only.attic', 'test.only.shed']))
      const result = await client.callTool({ name: 'test.only.attic', arguments: { x: 1 } })
      expect(result.structuredContent).toMatchObject({ ok: true, data: { node: 'attic', body: { x: 1 } } })
      await client.close()
    })

    it.each(['modern', 'legacy'] as const)('route a call of a %s MCP client to the node that it names', async (era) => {
      const client = await connectHttp(node(cellar).url, era)
      const { tools } = await client.listTools()
      const pins = (name: string): unknown =>
        (tools.find((tool) => tool.name === name)?.inputSchema.properties as Record<string, unknown>)?.['_node']
      expect(pins('test.echo')).toMatchObject({ description: expect.stringMatching(/cellar, attic, shed/) })
      expect(pins('test.only.attic')).toBe(undefined)
      const answered = async (said: Parameters<typeof client.callTool>[0], by = client): Promise<unknown> =>
        (await by.callTool(said)).structuredContent
      // A model fills in an argument; a client's program has a place of its own; an owner writes it into the URL.
      const byArgument = await answered({ name: 'test.where', arguments: { _node: 'attic', x: 1 } })
      expect(byArgument).toMatchObject({ data: { node: 'attic', body: { x: 1 } } })
      const meta = { 'io.hearthbus/node': node(shed).nodeId }
      expect(await answered({ name: 'test.where', _meta: meta })).toMatchObject({ data: { node: 'shed' } })
      const nowhere = await answered({ name: 'test.where', arguments: { _node: 'nowhere' } })
      expect(nowhere).toMatchObject({ error: { error: 'not_found', alt_nodes: expect.any(Array) } })
      const bound = await connectHttp(node(cellar).url, era, '/mcp?node=attic')
      const names = (await bound.listTools()).tools.map((tool) => tool.name)
      expect(names).toContain('test.only.attic')
      expect(names).not.toContain('test.only.cellar')
      expect(await answered({ name: 'test.where' }, bound)).toMatchObject({ data: { node: 'attic' } })
      expect(await answered({ name: 'test.where', _meta: meta }, bound)).toMatchObject({ data: { node: 'shed' } })
      await client.close()
      await bound.close()
    })

    it.each(['modern', 'legacy'] as const)('forward an elicitation to a %s MCP client of another node', async (era) => {
      const client = new Client(
        { name: 'asked', version: '1.0.0' },
        {
          capabilities: { elicitation: { form: {} } },
          versionNegotiation: { mode: era === 'modern' ? { pin: '2026-07-28' } : 'legacy' },
        },
      )
      const asked: string[] = []
      client.setRequestHandler('elicitation/create', ({ params }) => {
        asked.push(params.message)
        return { action: 'accept', content: { me: 'the owner' } }
      })
      await client.connect(new StreamableHTTPClientTransport(new URL(`${node(cellar).url}/mcp`)))
      const { structuredContent } = await client.callTool({ name: 'test.asking', arguments: { _node: 'attic' } })
      expect(asked).toEqual(['Who is there? (attic)'])
      expect(structuredContent).toMatchObject({
        data: { node: 'attic', answer: { action: 'accept', content: { me: 'the owner' } } },
      })
      await client.close()
      // Whoever cannot be asked is not: the handler knows it beforehand.
      const mute = await connectHttp(node(cellar).url, era)
      const unasked = await mute.callTool({ name: 'test.asking', arguments: { _node: 'attic' } })
      expect(unasked.structuredContent).toMatchObject({ data: { node: 'attic', answer: 'cannot ask' } })
      await mute.close()
    })

    it.each(['modern', 'legacy'] as const)('forward progress to a %s MCP client of another node', async (era) => {
      const client = await connectHttp(node(cellar).url, era)
      const heard: unknown[] = []
      const onprogress = (told: object): void => void heard.push(told)
      const { structuredContent } = await client.callTool(
        { name: 'test.slow', arguments: { _node: 'attic' } },
        { onprogress },
      )
      expect(structuredContent).toMatchObject({ data: { node: 'attic' } })
      expect(heard).toEqual([
        { progress: 1, total: 2, message: 'half way in the attic' },
        { progress: 2, total: 2 },
      ])
      await client.close()
    })

    it('list a capability that was just added on another node for an MCP client', async () => {
      const client = await connectHttp(node(cellar).url, 'modern')
      await node(attic).say({ do: 'add', name: 'brand.new' })
      await until('it can be called', async () => {
        const result = await client.callTool({ name: 'test.brand.new', arguments: {} }).catch(() => undefined)
        return result?.structuredContent !== undefined && result.isError !== true
      })
      expect((await client.listTools()).tools.map((tool) => tool.name)).toContain('test.brand.new')
      await client.close()
    })

    it('record every hop in the ledger of its node, under one trace', async () => {
      const { traceId } = await call(node(cellar), 'test.count', { id: 'ledger' }, { node: node(shed).nodeId })
      for (const each of [node(cellar), node(shed)]) {
        const traces = (await (await askAsOwner(each, '/api/traces?limit=1000')).json()) as {
          traceId: string
          channel: string
        }[]
        expect(traces.filter((trace) => trace.traceId === traceId)).toHaveLength(1)
        cli(each.home, 'ledger', 'verify')
      }
    })

    it('witness each other’s checkpoints', async () => {
      await until('the other two have cosigned', async () => {
        const ledger = (await (await fetch(`${node(cellar).url}/api/ledger`)).json()) as { checkpoint: string | null }
        return (ledger.checkpoint?.match(/^— hearthbus\.local\/witness\//gm) ?? []).length === 2
      })
      expect(cli(node(cellar).home, 'ledger', 'verify')).toBeDefined()
    })

    it('keep a session on one provider, and respect a requested node', async () => {
      const pinned = await call(node(cellar), 'test.echo', {}, { node: node(shed).nodeId })
      expect(pinned.structured.data).toMatchObject({ node: 'shed' })
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => call(node(cellar), 'test.echo', {}, { session: 'chat-1' })),
      )
      expect(new Set(answers.map(({ structured }) => structured.data?.['node'])).size).toBe(1)
    })

    it('run a node-bound capability on the requested node only', async () => {
      const here = await call(node(cellar), 'test.where')
      expect(here.structured.data).toMatchObject({ node: 'cellar' })
      const there = await call(node(cellar), 'test.where', {}, { node: node(attic).nodeId })
      expect(there.structured.data).toMatchObject({ node: 'attic' })
    })

    it('cancel a call on another node when its caller aborts', async () => {
      const controller = new AbortController()
      const asked = call(
        node(cellar),
        'test.sleep',
        { id: 'gone', ms: 30_000 },
        { node: node(attic).nodeId, signal: controller.signal },
      )
      await until('it sleeps', () => executions(node(attic)).includes('sleeping "gone"'))
      controller.abort()
      await expect(asked).rejects.toThrow(/abort/)
      await until('it is woken', () => executions(node(attic)).includes('cancelled "gone"'))
    })

    it('pause a producer while its consumer on another node does not read', async () => {
      const frames = { frames: 8_000, bytes: 32_768 }
      const [before, asked] = [await node(attic).say({ do: 'stats' }), { do: 'stream', name: 'test.frames' }]
      await node(cellar).say({ ...asked, node: node(attic).nodeId, body: frames })
      let known = -1
      await until('the producer waits', async () => {
        const was = known
        await new Promise((resolve) => setTimeout(resolve, 200))
        known = Number((await node(attic).say({ do: 'stats' }))['produced'])
        return was === known
      })
      // 256 MB in all; what is under way fits into the buffers of two sockets.
      expect(known).toBeLessThan(1_000)
      const { rssMegabytes } = await node(attic).say({ do: 'stats' })
      expect(Number(rssMegabytes) - Number(before['rssMegabytes'])).toBeLessThan(100)
      await node(cellar).say({ do: 'leave' })
      await until('it is let go', async () => (await node(attic).say({ do: 'stats' }))['inFlight'] === 0)
    })

    it('route around a killed node, end its calls, and use it again when it is back', async () => {
      const asked = call(
        node(cellar),
        'test.count',
        { id: 'cut', ms: 20_000 },
        { node: node(shed).nodeId, timeoutMs: 15_000 },
      )
      await until('it has begun', () => executions(node(shed)).includes('count "cut"'))
      await node(shed).kill()
      const answers = await Promise.all(Array.from({ length: 20 }, () => call(node(cellar), 'test.echo', {})))
      expect(answers.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 20 }, () => 'ok'))
      const direct = await call(node(cellar), 'test.only.shed')
      expect(direct.structured.error).toMatchObject({ error: expect.stringMatching(/^(partition|not_found)$/) })
      expect((await asked).outcome).toBe('error')
      const again = await startAgain(node(shed))
      nodes = nodes.map((each) => (each === shed ? again : each))
      shed = again
      await until('it is back', async () => (await call(node(cellar), 'test.only.shed')).outcome === 'ok')
      expect(executions(again).filter((line) => line === 'count "cut"')).toHaveLength(1)
    })

    it('admit a running node, and refuse it once it is revoked', async () => {
      const { home, namespace } = settle('thief', how)
      const thief = await startNode('thief', home, { namespace })
      nodes = [...nodes, thief]
      expect(await communityIn(thief)).toBe(null)
      // While it runs: nothing has to be started again.
      cliIn(namespace, home, 'mesh', 'join', invite(node(cellar).home, 'member'))
      await until('it has noticed', async () => (await communityIn(thief)) !== null)
      expect(await communityIn(thief)).toBe(await communityIn(node(cellar)))
      await until('it is in', async () => (await call(thief, 'test.only.attic')).outcome === 'ok')
      // A member may read; what changes something is for the trusted.
      const refused = await call(thief, 'test.write', {}, { node: node(attic).nodeId })
      expect(refused.structured.error).toMatchObject({ error: 'unauthorized' })
      cli(node(cellar).home, 'mesh', 'revoke', 'thief')
      await until('the attic has heard', async () => {
        const { structured } = await call(thief, 'test.only.attic')
        return structured?.error !== undefined || structured === undefined
      })
      await until('nobody lists it any more', async () => (await call(node(attic), 'test.only.thief')).outcome !== 'ok')
      const { outcome } = await call(thief, 'test.only.attic', {}, { timeoutMs: 5_000 })
      expect(outcome).not.toBe('ok')
    })
  })
}

async function communityIn({ url }: MeshNode): Promise<unknown> {
  const { communityId } = (await (await fetch(`${url}/api/topology`)).json()) as { communityId?: string }
  return communityId ?? null
}

function node(each: MeshNode | undefined): MeshNode {
  if (each === undefined) throw new Error('the community was not formed')
  return each
}
