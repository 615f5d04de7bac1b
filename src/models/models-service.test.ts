import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import { listenLocally } from '../../test/local-port.ts'
import { collect, introduce, ME, node } from '../../test/bus-village.ts'
import type { CapabilityBus } from '../bus/bus.ts'
import type { ModelsConfig } from '../config/models.ts'
import { manualClock } from '../../test/manual-clock.ts'
import { silentLogger } from '../core/logger.ts'
import type { Logger } from '../core/logger.ts'
import { createModelsService } from './models-service.ts'

const servers: Server[] = []

afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

const hello = { input: { messages: [{ role: 'user', content: 'Good morning, house' }] } }

describe('built-in model', () => {
  it('streams the same text for the same conversation', async () => {
    const bus = busWith({ builtin: true, endpoints: [] })
    const stream = bus.stream('llm.chat', [1, 0], hello, ME)
    const frames = await collect(stream)
    expect(frames.map(({ data }) => data)).toEqual(
      ['Turn', ' 1:', ' Good', ' morning,', ' house'].map((text) => ({ text })),
    )
    expect(await stream.outcome).toMatchObject({
      ok: true,
      value: {
        data: {
          output: { message: { role: 'assistant', content: 'Turn 1: Good morning, house' }, finish_reason: 'stop' },
          meta: { model: 'hearthbus-echo', tokens_in: 3, tokens_out: 5 },
        },
        usage: { tokensIn: 3, tokensOut: 5 },
      },
    })
  })

  it('reports its token counts in the trace', async () => {
    const bus = busWith({ builtin: true, endpoints: [] })
    await bus.call('llm.chat', [1, 0], hello, ME)
    expect(bus.recentTraces(1)).toMatchObject([{ capability: 'llm.chat', result: 'ok', tokensIn: 3, tokensOut: 5 }])
  })

  it('stops at the requested max_tokens', async () => {
    const bus = busWith({ builtin: true, endpoints: [] })
    const outcome = await bus.call('llm.chat', [1, 0], { ...hello, params: { max_tokens: 2 } }, ME)
    expect(outcome).toMatchObject({
      value: { data: { output: { message: { content: 'Turn 1:' }, finish_reason: 'length' } } },
    })
  })

  it('returns similar embeddings for texts that share words', async () => {
    const bus = busWith({ builtin: true, endpoints: [] })
    const texts = ['the cellar is cold', 'the cellar is very cold', 'play some music']
    const outcome = await bus.call('embed.text', [1, 0], { input: { texts } }, ME)
    if (!outcome.ok) throw new Error(outcome.fault.message)
    const { output, meta } = outcome.value.data as unknown as {
      output: { embeddings: number[][] }
      meta: { dimensions: number }
    }
    const [a = [], b = [], c = []] = output.embeddings
    expect(meta.dimensions).toBe(64)
    expect(Math.hypot(...a)).toBeCloseTo(1)
    expect(dot(a, b)).toBeGreaterThan(dot(a, c))
  })

  it('refuses requests that violate the schema', async () => {
    const bus = busWith({ builtin: true, endpoints: [] })
    const refused = [
      await bus.call('llm.chat', [1, 0], { input: { messages: [] } }, ME),
      await bus.call('llm.chat', [1, 0], { ...hello, params: { temperature: 3 } }, ME),
      await bus.call('embed.text', [1, 0], { input: { texts: ['x'.repeat(8_193)] } }, ME),
    ]
    expect(refused.map((outcome) => !outcome.ok && outcome.fault.code)).toEqual(refused.map(() => 'schema_mismatch'))
  })
})

describe('models on several nodes', () => {
  it('are chosen by the name of the model, on whatever node it is', async () => {
    const [big, small] = [await modelServer('big'), await modelServer('small')]
    const here = busWith(endpointsOf(small, 'small'), 'here')
    const there = busWith(endpointsOf(big, 'big'), 'there')
    introduce(here, there)
    const ask = async (model: string): Promise<unknown> => {
      const outcome = await here.call('llm.chat', [1, 0], { ...hello, params: { model } }, ME)
      return outcome.ok ? (outcome.value.data as { meta: { model: string } }).meta.model : outcome.fault.code
    }
    expect([await ask('big'), await ask('small'), await ask('huge')]).toEqual(['big', 'small', 'not_found'])
    expect(here.recentTraces(3).map(({ toNode }) => toNode)).toEqual([undefined, 'here', 'there'])
    expect(await here.call('llm.chat', [1, 0], { ...hello, params: { model: 'huge' } }, ME)).toMatchObject({
      fault: {
        message: 'No provider of llm.chat serves the requested params; available: {"model":"big"}, {"model":"small"}.',
      },
    })
  })

  it('keep a conversation on the node where it began', async () => {
    const nodes = ['a', 'b', 'c'].map((name) => busWith({ builtin: true, endpoints: [] }, name))
    introduce(...nodes)
    const home = node('home', { clock: manualClock() })
    introduce(home, ...nodes)
    for (let turn = 0; turn < 12; turn++) await home.call('llm.chat', [1, 0], hello, { ...ME, sessionId: 'evening' })
    expect(new Set(home.recentTraces(12).map(({ toNode }) => toNode)).size).toBe(1)
  })
})

describe('OpenAI-compatible server', () => {
  it('is streamed in pieces, and its token counts are used', async () => {
    const bus = busWith(endpointsOf(await modelServer('big'), 'big'))
    const stream = bus.stream('llm.chat', [1, 0], hello, ME)
    expect((await collect(stream)).map(({ data }) => data)).toEqual([{ text: 'Hel' }, { text: 'lo' }])
    expect(await stream.outcome).toMatchObject({ value: { usage: { tokensIn: 7, tokensOut: 2 } } })
  })

  it('receives its key from the environment, and the key never appears in an outcome', async () => {
    let seen: string | undefined
    const url = await serve((request, response) => {
      seen = request.headers.authorization
      response.writeHead(401).end('no such key: sk-secret')
    })
    const config = endpointsOf(url, 'big', { keyVariable: 'MODEL_KEY' })
    const outcome = await busWith(config).call('llm.chat', [1, 0], hello, ME)
    expect(seen).toBe('Bearer sk-secret')
    expect(JSON.stringify(outcome)).not.toContain('sk-secret')
    expect(outcome).toMatchObject({ fault: { kind: 'failed' } })
  })

  it('yields a fault of its own kind when busy, unreachable or sending malformed data', async () => {
    const kindAt = async (url: string): Promise<unknown> => {
      const outcome = await busWith(endpointsOf(url, 'big')).call('llm.chat', [1, 0], hello, {
        ...ME,
        timeoutMs: 2_000,
      })
      return outcome.ok ? 'ok' : outcome.fault.kind
    }
    const busy = await serve((_, response) => void response.writeHead(429, { 'retry-after': '7' }).end())
    const babbling = await serve((_, response) => void response.writeHead(200).end('data: {"choices":"?"}\n\n'))
    expect([await kindAt(busy), await kindAt('http://127.0.0.1:9'), await kindAt(babbling)]).toEqual([
      'busy',
      'offline',
      'failed',
    ])
  })

  it('may return embeddings in any order, and they are sorted by index', async () => {
    const url = await serve((_, response) => {
      const data = [1, 0].map((index) => ({ index, embedding: [index, 1] }))
      response.writeHead(200).end(JSON.stringify({ data, usage: { prompt_tokens: 4 } }))
    })
    const outcome = await busWith(endpointsOf(url, 'big')).call(
      'embed.text',
      [1, 0],
      { input: { texts: ['a', 'b'] } },
      ME,
    )
    expect(outcome).toMatchObject({
      value: {
        data: {
          output: {
            embeddings: [
              [0, 1],
              [1, 1],
            ],
          },
        },
        usage: { tokensIn: 4 },
      },
    })
  })

  it('may return many long embeddings in one line', async () => {
    const url = await serve((_, response) => {
      const embedding = Array.from({ length: 1_024 }, (_each, at) => (at + 1) / 3)
      const data = Array.from({ length: 128 }, (_each, index) => ({ index, embedding }))
      response.writeHead(200).end(JSON.stringify({ data }))
    })
    const texts = Array.from({ length: 128 }, () => 'a')
    const outcome = await busWith(endpointsOf(url, 'big')).call('embed.text', [1, 0], { input: { texts } }, ME)
    expect(outcome).toMatchObject({ ok: true, value: { data: { meta: { dimensions: 1_024 } } } })
  })

  it('fails when it returns two embeddings with the same index', async () => {
    const url = await serve((_, response) => {
      const data = [0, 0].map((index) => ({ index, embedding: [1, 1] }))
      response.writeHead(200).end(JSON.stringify({ data }))
    })
    const outcome = await busWith(endpointsOf(url, 'big')).call(
      'embed.text',
      [1, 0],
      { input: { texts: ['a', 'b'] } },
      ME,
    )
    expect(outcome).toMatchObject({ ok: false, fault: { kind: 'failed' } })
  })

  it('with invalid token counts has its tokens counted by words instead', async () => {
    const said = [
      { choices: [{ delta: { content: 'Two words' } }] },
      { choices: [], usage: { prompt_tokens: '7', completion_tokens: -4 } },
    ]
    const url = await serve((_, response) => {
      response.writeHead(200).end(said.map((part) => `data: ${JSON.stringify(part)}\n\n`).join(''))
    })
    const outcome = await busWith(endpointsOf(url, 'big')).call('llm.chat', [1, 0], hello, ME)
    expect(outcome).toMatchObject({ value: { usage: { tokensIn: 3, tokensOut: 2 } } })
  })

  it('has invisible characters removed from its text, also when one is split between two pieces', async () => {
    // U+E0041, a tag letter, in halves; a direction mark and a zero-width space.
    const said = ['Yes\u202E', '\u200B, ', 'a\uDB40', '\uDC41 \uD83D', '\uDE00']
    const url = await serve((_, response) => {
      const parts = said.map((content) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`)
      response.writeHead(200).end(parts.join(''))
    })
    const outcome = await busWith(endpointsOf(url, 'big')).call('llm.chat', [1, 0], hello, ME)
    expect(outcome).toMatchObject({ value: { data: { output: { message: { content: 'Yes, a \u{1F600}' } } } } })
  })

  it('has half a surrogate pair at the end of its text replaced', async () => {
    const url = await serve((_, response) => {
      response.writeHead(200).end(String.raw`data: {"choices":[{"delta":{"content":"Hi \ud83d"}}]}` + '\n\n')
    })
    const outcome = await busWith(endpointsOf(url, 'big')).call('llm.chat', [1, 0], hello, ME)
    expect(outcome).toMatchObject({ value: { data: { output: { message: { content: 'Hi \uFFFD' } } } } })
  })

  it('with an endless retry-after is retried after an hour at most', async () => {
    const url = await serve((_, response) => void response.writeHead(429, { 'retry-after': '1e300' }).end())
    const outcome = await busWith(endpointsOf(url, 'big')).call('llm.chat', [1, 0], hello, ME)
    expect(outcome).toMatchObject({ fault: { kind: 'busy', retryAfterMs: 3_600_000 } })
  })

  it('is disconnected when the caller stops reading', async () => {
    const { promise: closed, resolve } = Promise.withResolvers<void>()
    const url = await serve((request, response) => {
      response.writeHead(200).write(`data: ${JSON.stringify({ choices: [{ delta: { content: 'Hm' } }] })}\n\n`)
      request.socket.once('close', () => resolve())
    })
    const stream = busWith(endpointsOf(url, 'big')).stream('llm.chat', [1, 0], hello, ME)
    await stream.next()
    await stream.return()
    await expect(closed).resolves.toBeUndefined()
  })
})

function busWith(config: ModelsConfig, name = 'n1'): CapabilityBus {
  const clock = manualClock()
  const bus = node(name, { clock })
  const registered = bus.registerService(
    createModelsService({ config, environment: { MODEL_KEY: 'sk-secret' }, clock, logger: silentLogger }),
  )
  if (!registered.ok) throw new Error(registered.fault.message)
  return bus
}

function endpointsOf(url: string, model: string, more: { keyVariable?: string } = {}): ModelsConfig {
  const endpoint = { url, chat: [model], embed: [model], maxConcurrent: 2, timeoutSeconds: 10, ...more }
  return { builtin: false, endpoints: [endpoint] }
}

/** Speaks as such servers do: a role first, then pieces, a reason, usage, and the end. */
function modelServer(name: string): Promise<string> {
  return serve((_, response) => {
    const chunks = [
      { choices: [{ delta: { role: 'assistant', content: '' }, finish_reason: null }] },
      { choices: [{ delta: { content: 'Hel' } }] },
      { choices: [{ delta: { content: 'lo' } }], model: name },
      { choices: [{ delta: {}, finish_reason: 'stop' }] },
      { choices: [], usage: { prompt_tokens: 7, completion_tokens: 2 } },
    ]
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(`${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`)
  })
}

describe('health of model servers', () => {
  it('reports and logs an unreachable server as soon as the service has started', async () => {
    const said: string[] = []
    const log = (_: object, message: string): void => void said.push(message)
    const logger = { ...silentLogger, warn: log, info: log } as Logger
    const config = endpointsOf('http://127.0.0.1:9/v1', 'big')
    const service = createModelsService({ config, environment: {}, clock: manualClock(), logger })
    expect(service.health()).toEqual({ status: 'ok', details: { instances: 2 } })
    await service.start()
    await expect.poll(() => service.health().status).toBe('degraded')
    expect(service.health().details).toEqual({
      advice: 'The model server at http://127.0.0.1:9/v1 cannot be reached.',
      instances: 2,
      away: true,
    })
    await service.stop()
    expect(said).toEqual(['The model server at http://127.0.0.1:9/v1 cannot be reached.'])
  })

  it('follows the outcome of the last call', async () => {
    let status = 500
    const url = await serve((_, response) => {
      const data = [{ index: 0, embedding: [1, 1] }]
      response.writeHead(status).end(JSON.stringify({ data }))
    })
    const config = endpointsOf(url, 'big')
    const service = createModelsService({ config, environment: {}, clock: manualClock(), logger: silentLogger })
    const bus = node('home', { clock: manualClock() })
    bus.registerService(service)
    const embed = (): Promise<unknown> => bus.call('embed.text', [1, 0], { input: { texts: ['a'] } }, ME)
    await embed()
    expect(service.health().details).toMatchObject({ advice: `The model server at ${url} answered 500.`, away: true })
    status = 200
    await embed()
    expect(service.health()).toMatchObject({ status: 'ok' })
    status = 429
    await embed()
    expect(service.health()).toMatchObject({ status: 'ok' })
  })

  it('names the key variable that is not set when the server demands a key', async () => {
    const url = await serve((_, response) => void response.writeHead(401).end())
    const config = endpointsOf(url, 'big', { keyVariable: 'MODEL_KEY' })
    const service = createModelsService({ config, environment: {}, clock: manualClock(), logger: silentLogger })
    await service.start()
    await expect.poll(() => service.health().details['away']).toBe(true)
    expect(service.health().details['advice']).toBe(
      `models: the environment variable MODEL_KEY, which should hold a key, is not set. The model server at ${url} refuses this node (401): it wants a key, and none is set.`,
    )
    await service.stop()
  })
})

async function serve(handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer((request, response) => {
    request.resume()
    request.once('end', () => handle(request, response))
  })
  servers.push(server)
  return `http://127.0.0.1:${await listenLocally(server)}/v1`
}

function dot(left: readonly number[], right: readonly number[]): number {
  return left.reduce((sum, value, index) => sum + value * (right[index] ?? 0), 0)
}
