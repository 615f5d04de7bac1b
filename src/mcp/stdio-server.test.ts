import { PassThrough } from 'node:stream'
import { createInterface } from 'node:readline'
import { describe, expect, it } from 'vitest'
import { agent, capability, endlessCapability, recordedBus } from '../../test/mcp-house.ts'
import type { FaceBus } from './face-bus.ts'
import type { JsonObject } from '../core/json.ts'
import { silentLogger } from '../core/logger.ts'
import { ok } from '../core/result.ts'
import { serveStdio } from './stdio-server.ts'

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** A client's two ends of the pipes: what it writes, and the lines it reads. */
function connect(bus: FaceBus, profile?: string, style: 'dots' | 'underscore' = 'dots') {
  const input = new PassThrough()
  const output = new PassThrough()
  const serving = serveStdio({
    bus,
    principal: agent,
    scope: { profile, style },
    streams: { input, output },
    serverInfo: { name: 'hearthbus', title: 'Hearthbus', version: '0.0.0' },
    log: silentLogger,
  })
  let lines: AsyncIterator<string> | undefined
  return {
    serving,
    input,
    say: (message: JsonObject) => input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`),
    hear: async (): Promise<unknown> => {
      // Nothing is read before it is asked for.
      lines ??= createInterface({ input: output })[Symbol.asyncIterator]()
      const { value } = await lines.next()
      return JSON.parse(String(value ?? 'null'))
    },
  }
}

const INITIALIZE = {
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
}
const echo = capability({ name: 'test.echo' }, ({ body }) => ok({ data: body }))

describe('MCP over stdio', () => {
  it('serves a client of the 2025 revisions', async () => {
    const { say, hear } = connect(recordedBus(echo).bus)
    say(INITIALIZE)
    expect(await hear()).toMatchObject({ id: 0, result: { protocolVersion: '2025-11-25' } })
    say({ method: 'notifications/initialized' })
    say({ id: 1, method: 'tools/call', params: { name: 'test_echo', arguments: { a: 1 } } })
    expect(await hear()).toMatchObject({ id: 1, result: { structuredContent: { ok: true, data: { a: 1 } } } })
  })

  it('mentions the profile and the underscore names in its instructions', async () => {
    const told = async (profile?: string, style?: 'dots' | 'underscore'): Promise<string> => {
      const { say, hear } = connect(recordedBus(echo).bus, profile, style)
      say(INITIALIZE)
      return ((await hear()) as { result: { instructions: string } }).result.instructions
    }
    expect(await told()).not.toMatch(/Spelling|profile/)
    expect(await told(undefined, 'underscore')).toContain('in your list that is hs4_devices_set')
    expect(await told('read')).toContain('You see a part of it, the profile read:')
  })

  it('serves a client of 2026-07-28', async () => {
    const { say, hear } = connect(recordedBus(echo).bus)
    say({ id: 1, method: 'tools/call', params: { name: 'test.echo', arguments: { a: 1 }, _meta: META } })
    expect(await hear()).toMatchObject({
      id: 1,
      result: { resultType: 'complete', structuredContent: { ok: true, data: { a: 1 } } },
    })
  })

  it('answers an invalid message with an error and continues', async () => {
    const { say, hear, input } = connect(recordedBus(echo).bus)
    input.write('{"jsonrpc":\n')
    expect(await hear()).toMatchObject({ id: null, error: { code: -32_700 } })
    input.write('{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}\n')
    expect(await hear()).toMatchObject({
      error: { code: -32_700, message: 'Parse error: The key "id" is given twice.' },
    })
    input.write(Buffer.from([0x22, 0xff, 0x22, 0x0a]))
    expect(await hear()).toMatchObject({ error: { code: -32_700 } })
    input.write('{"id":7,"method":1}\n')
    expect(await hear()).toMatchObject({ id: 7, error: { code: -32_600 } })
    input.write('[]\n\n')
    expect(await hear()).toMatchObject({ error: { code: -32_600 } })
    input.write(`"${'x'.repeat(4_194_304)}"\n`)
    expect(await hear()).toMatchObject({
      error: { code: -32_600, message: 'A message must not exceed 4194304 bytes.' },
    })
    say(INITIALIZE)
    expect(await hear()).toMatchObject({ id: 0, result: { serverInfo: { name: 'hearthbus' } } })
  })

  it('answers calls in progress when the input ends, and then ends', async () => {
    const slow = capability({ name: 'slow' }, async () => {
      await new Promise((resolve) => setTimeout(resolve, 20))
      return ok({ data: 'done' })
    })
    const { say, hear, input, serving } = connect(recordedBus(slow).bus)
    say({ id: 1, method: 'tools/call', params: { name: 'slow', _meta: META } })
    input.end()
    expect(await hear()).toMatchObject({ id: 1, result: { structuredContent: { data: 'done' } } })
    await serving?.ended
  })

  it.each(['2025 family', '2026-07-28'])('cancels a call at the request of the client, in the %s', async (era) => {
    const { endless, begun, withdrawn } = endlessCapability()
    const { say, hear } = connect(recordedBus(endless).bus)
    const _meta = era === '2026-07-28' ? { _meta: META } : {}
    say(era === '2026-07-28' ? { id: 0, method: 'tools/list', params: _meta } : INITIALIZE)
    await hear()
    say({ id: 1, method: 'tools/call', params: { name: 'endless', ..._meta } })
    await begun
    say({ method: 'notifications/cancelled', params: { requestId: 1 } })
    await withdrawn
    say({ id: 2, method: 'tools/list', params: _meta })
    expect(await hear()).toMatchObject({ id: 2 })
  })

  it('stops reading from a client that does not read its answers', async () => {
    const big = capability({ name: 'big' }, () => ok({ data: 'x'.repeat(100_000) }))
    const { bus, calls } = recordedBus(big)
    const { say, hear, input } = connect(bus)
    say({ id: 0, method: 'tools/call', params: { name: 'big', _meta: META } })
    await expect.poll(() => calls.length).toBe(1)
    say({ id: 1, method: 'tools/call', params: { name: 'big', _meta: META } })
    await expect.poll(() => input.isPaused()).toBe(true)
    expect([await hear(), await hear()]).toMatchObject([{ id: 0 }, { id: 1 }])
    expect(input.isPaused()).toBe(false)
  })

  it('notifies of a changed list of tools', async () => {
    const { bus } = recordedBus(echo)
    const { say, hear } = connect(bus)
    say(INITIALIZE)
    await hear()
    say({ method: 'notifications/initialized' })
    bus.registerCapability(capability({ name: 'test.new' }, () => ok({ data: 1 })))
    expect(await hear()).toEqual({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
  })

  it('notifies a subscriber of 2026-07-28 of the resources it requested, and of nothing else', async () => {
    const face = { kind: 'resource', uri: 'test://a', mimeType: 'application/json' } as const
    const { bus } = recordedBus(
      echo,
      capability({ name: 'test.a', face }, () => ok({ data: 1 })),
    )
    const { say, hear } = connect(bus)
    const notifications = { resourceSubscriptions: ['test://a'] }
    say({ id: 5, method: 'subscriptions/listen', params: { notifications, _meta: META } })
    expect(await hear()).toMatchObject({
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications },
    })
    bus.announceResource('test://b')
    bus.deregister('test.echo', [1, 0])
    bus.announceResource('test://a')
    expect(await hear()).toMatchObject({ method: 'notifications/resources/updated', params: { uri: 'test://a' } })
  })

  it('does not start with an unknown profile', () => {
    expect(connect(recordedBus(echo).bus, 'nothing').serving).toBeUndefined()
  })
})
