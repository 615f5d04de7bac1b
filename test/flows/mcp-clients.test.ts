/**
 * The SDK's own client, as agents have it, in both eras and over both transports: what it can do with us beyond
 * calling a tool.
 */
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/core/json.ts'
import { conformanceHouse } from '../conformance/conformance-house.ts'
import type { ConformanceHouse } from '../conformance/conformance-house.ts'

const STDIO_SERVER = fileURLToPath(new URL('../conformance/serve-stdio.ts', import.meta.url))

let house: ConformanceHouse
beforeAll(async () => {
  house = await conformanceHouse()
})
afterAll(() => house.close())

describe.each([
  ['modern', 'http'],
  ['legacy', 'http'],
  ['modern', 'stdio'],
  ['legacy', 'stdio'],
] as const)('a %s MCP client over %s', (era, over) => {
  let client: Client
  beforeAll(async () => {
    client = new Client(
      { name: 'test', version: '1.0.0' },
      {
        capabilities: { elicitation: { form: {} } },
        versionNegotiation: { mode: era === 'modern' ? { pin: '2026-07-28' } : 'legacy' },
      },
    )
    const content = { username: 'ada', email: 'ada@example.org' }
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content }))
    const transport =
      over === 'http'
        ? new StreamableHTTPClientTransport(new URL(house.url))
        : new StdioClientTransport({ command: process.execPath, args: [STDIO_SERVER] })
    await client.connect(transport)
  })
  afterAll(() => client.close())

  it('lists tools, calls, reads resources, gets prompts and completes arguments', async () => {
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toContain('test_simple_text')
    const called = await client.callTool({ name: 'test_simple_text', arguments: {} })
    expect(called.content).toEqual([{ type: 'text', text: 'This is a simple text response for testing.' }])
    const { contents } = await client.readResource({ uri: 'test://template/7/data' })
    expect(contents).toMatchObject([{ uri: 'test://template/7/data', mimeType: 'application/json' }])
    const prompt = await client.getPrompt({ name: 'test_prompt_with_arguments', arguments: { arg1: 'a', arg2: 'b' } })
    expect(prompt.messages[0]?.content).toMatchObject({ text: "Prompt with arguments: arg1='a', arg2='b'" })
    const ref = { type: 'ref/prompt', name: 'test_prompt_with_arguments' } as const
    const { completion } = await client.complete({ ref, argument: { name: 'arg1', value: 'arg1-t' } })
    expect(completion.values).toEqual(['arg1-two'])
  })

  it('receives the ledger position of every answer and refusal', async () => {
    const recordOf = (from: unknown): JsonObject =>
      (from as { readonly _meta: JsonObject })._meta['io.hearthbus/record'] as JsonObject
    const entryAt = async (place: unknown): Promise<unknown> => {
      const proof = await client.callTool({ name: 'ledger_proof', arguments: { log_index: place } })
      const { data } = proof.structuredContent as { readonly data: { readonly leaf: string } }
      return JSON.parse(data.leaf)
    }
    const _meta = { 'io.hearthbus/task': 'task-7', 'io.hearthbus/session': 's-7' }
    const done = recordOf(await client.callTool({ name: 'test_simple_text', arguments: {}, _meta }))
    expect(done).toMatchObject({ task_id: 'task-7', session_id: 's-7' })
    expect(await entryAt(done['log_index'])).toMatchObject({
      kind: 'call.enter',
      tool: 'test_simple_text',
      trace_id: done['trace_id'],
      task_id: 'task-7',
      session_id: 's-7',
    })
    expect(await entryAt(done['end_log_index'])).toMatchObject({ call: done['log_index'], outcome: 'ok' })
    const refused = recordOf(await client.callTool({ name: 'test_sampling', arguments: { prompt: 7 } }))
    expect(await entryAt(refused['end_log_index'])).toMatchObject({ outcome: 'error', fault: 'invalid-arguments' })
    const read = recordOf(await client.readResource({ uri: 'test://template/7/data' }))
    expect(await entryAt(read['end_log_index'])).toMatchObject({ outcome: 'ok' })
    const prompt = recordOf(await client.getPrompt({ name: 'test_simple_prompt', arguments: {} }))
    expect(await entryAt(prompt['log_index'])).toMatchObject({ tool: expect.stringContaining('prompt') })
    // What is no result has its record in the data of the error.
    for (const attempt of [
      () => client.callTool({ name: 'nobody_has_this', arguments: {} }),
      () => client.readResource({ uri: 'test://nothing' }),
      () => client.getPrompt({ name: 'nobody_wrote_this', arguments: {} }),
    ]) {
      const { data } = (await attempt().then(
        () => expect.unreachable(),
        (error: unknown) => error,
      )) as {
        readonly data: unknown
      }
      expect(await entryAt(recordOf(data)['end_log_index'])).toMatchObject({ outcome: 'error', fault: 'not-found' })
    }
  })

  it('is asked through elicitation, and its answer reaches the handler', async () => {
    const { content } = await client.callTool({ name: 'test_elicitation', arguments: { message: 'Who are you?' } })
    const text = 'User response: action: accept, content: {"username":"ada","email":"ada@example.org"}'
    expect(content).toEqual([{ type: 'text', text }])
  })

  it('receives progress while the call runs', async () => {
    const heard: number[] = []
    const onprogress = ({ progress }: { progress: number }): void => void heard.push(progress)
    await client.callTool({ name: 'test_tool_with_progress', arguments: {} }, { onprogress })
    expect(heard).toEqual([0, 50, 100])
  })

  it('receives a notification when the tool list has changed', async () => {
    const changed = new Promise<void>((resolve) =>
      client.setNotificationHandler('notifications/tools/list_changed', () => resolve()),
    )
    const count = async (): Promise<number> => (await client.listTools()).tools.length
    const before = await count()
    if (era === 'modern') await client.listen({ toolsListChanged: true })
    await client.callTool({ name: 'test_trigger_tool_change', arguments: {} })
    await changed
    expect(Math.abs((await count()) - before)).toBe(1)
  })

  it('receives invalid-argument errors as a result that a model can read', async () => {
    const result = await client.callTool({ name: 'test_sampling', arguments: { prompt: 7 } })
    expect(result.isError).toBe(true)
    await expect(client.callTool({ name: 'nobody_has_this', arguments: {} })).rejects.toMatchObject({ code: -32_602 })
    await expect(client.readResource({ uri: 'test://nothing' })).rejects.toMatchObject({ code: -32_602 })
  })
})
