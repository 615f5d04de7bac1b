import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../core/json.ts'
import { stepSession } from './session-machine.ts'
import type {
  DeviceCallRequest,
  SessionEffect,
  SessionInput,
  DeviceSession,
  SessionSettings,
  DeviceTransport,
} from './session.ts'
import { DEFAULT_SESSION_SETTINGS, newDeviceSession } from './session.ts'
import { nextSessionDeadline } from './deadlines.ts'

const DEVICE = 'a0:b1:c2:d3:e4:f5'
const VOLUME = {
  name: 'self.audio_speaker.set_volume',
  description: 'Set the volume.',
  inputSchema: {
    type: 'object',
    properties: { volume: { type: 'integer', minimum: 0, maximum: 100 } },
    required: ['volume'],
  },
}
const STATUS = { name: 'self.get_device_status', description: '', inputSchema: { type: 'object', properties: {} } }
const HELLO = '{"type":"hello","version":1,"features":{"mcp":true},"transport":"websocket"}'

type Untimed = SessionInput extends infer Each ? (Each extends SessionInput ? Omit<Each, 'atMs'> : never) : never

/** One session and the time it lives in; everything it emits is kept. */
class Play {
  session: DeviceSession
  atMs = 0
  effects: SessionEffect[] = []

  constructor(settings: Partial<SessionSettings> = {}) {
    this.session = newDeviceSession(DEVICE, { ...DEFAULT_SESSION_SETTINGS, firstId: 1, ...settings })
  }

  input(input: Untimed): readonly SessionEffect[] {
    const next = stepSession(this.session, { ...input, atMs: this.atMs })
    this.session = next.session
    this.effects.push(...next.effects)
    return next.effects
  }

  connect(transport: DeviceTransport = 'websocket') {
    return this.input({ kind: 'connected', transport, seed: 's', vision: undefined, udp: undefined })
  }

  text(text: string) {
    return this.input({ kind: 'text', text })
  }

  /** Answers the request in flight, as a device that echoes its id. */
  reply(body: { readonly result: Json } | { readonly error: Json }, id = this.session.flight?.id) {
    return this.text(JSON.stringify({ session_id: '', type: 'mcp', payload: { jsonrpc: '2.0', id, ...body } }))
  }

  wait(ms: number) {
    this.atMs += ms
    return this.input({ kind: 'tick' })
  }

  call(call: number, request: Partial<DeviceCallRequest> = {}) {
    const defaults = { tool: VOLUME.name, arguments: { volume: 50 }, timeoutMs: 30_000, waitMs: 60_000 }
    return this.input({
      kind: 'call',
      request: { call, ...defaults, outlastsSleep: false, ...request },
    })
  }

  ready(transport: DeviceTransport = 'websocket') {
    this.connect(transport)
    if (transport === 'websocket') this.text(HELLO)
    this.reply({ result: { serverInfo: { name: 'board', version: '2.4.2' } } })
    this.reply({ result: { tools: [VOLUME, STATUS] } })
    this.effects = []
    return this
  }

  /** The JSON-RPC requests among what was sent. */
  requests(): readonly JsonObject[] {
    return sent(this.effects).flatMap((frame) => (frame['type'] === 'mcp' ? [frame['payload'] as JsonObject] : []))
  }
}

function sent(effects: readonly SessionEffect[]): readonly JsonObject[] {
  return effects.flatMap((effect) => (effect.kind === 'send' ? [JSON.parse(effect.text) as JsonObject] : []))
}

function answers(effects: readonly SessionEffect[]) {
  return effects.filter((effect) => effect.kind === 'answer')
}

const refusal = (call: number, fault: JsonObject) => ({ kind: 'answer', call, result: { ok: false, fault } })
const text = (value: string) => ({ result: { content: [{ type: 'text', text: value }], isError: false } })

describe('a WebSocket session', () => {
  it('sends hello, then initialize, then tools/list', () => {
    const play = new Play()
    expect(play.connect()).toEqual([])
    const [hello, initialize] = sent(play.text(HELLO))
    expect(hello).toMatchObject({
      type: 'hello',
      transport: 'websocket',
      session_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      audio_params: {},
    })
    expect(initialize?.['session_id']).toBe(hello?.['session_id'])
    expect(initialize?.['payload']).toEqual({
      jsonrpc: '2.0',
      method: 'initialize',
      params: { capabilities: {} },
      id: 1,
    })
    play.reply({ result: { serverInfo: { name: 'board', version: '2.4.2' } } })
    expect(play.session).toMatchObject({ phase: 'listing', info: { name: 'board', version: '2.4.2' } })
    const effects = play.reply({ result: { tools: [VOLUME] } })
    expect(effects).toEqual([{ kind: 'tools', changed: true }])
    expect(play.session).toMatchObject({ phase: 'ready', tools: [{ name: VOLUME.name }], warnings: [] })
    expect(play.requests().map(({ method, id }) => [method, id])).toEqual([
      ['initialize', 1],
      ['tools/list', 2],
    ])
  })

  it('sends a camera the URL and token for photos in initialize', () => {
    const play = new Play()
    const vision = { url: 'http://h:1/vision', token: 'T' }
    play.input({ kind: 'connected', transport: 'websocket', seed: 's', vision, udp: undefined })
    play.text(HELLO)
    expect(play.requests()[0]).toMatchObject({ params: { capabilities: { vision: { url: vision.url, token: 'T' } } } })
  })

  it('ignores messages before the hello, and closes after 10 s without one', () => {
    const play = new Play()
    play.connect()
    expect(play.text('{"type":"listen","state":"start"}')).toEqual([{ kind: 'ignored', what: 'before-hello' }])
    expect(nextSessionDeadline(play.session)).toBe(10_000)
    expect(play.wait(9_999)).toEqual([])
    expect(play.wait(1)).toEqual([{ kind: 'close', reason: 'no hello' }])
    expect(play.wait(1)).toEqual([])
    expect(nextSessionDeadline(play.session)).toBeUndefined()
    expect(play.input({ kind: 'disconnected', reason: 'no hello' })).toEqual([])
  })

  it('sends no MCP request to a device whose hello does not announce MCP', () => {
    const play = new Play()
    play.connect()
    play.text('{"type":"hello","features":{},"transport":"websocket"}')
    expect(play.requests()).toEqual([])
    expect(play.session).toMatchObject({ phase: 'ready', tools: [], warnings: ['the device does not announce MCP'] })
  })

  it('sends a keep-alive text within the 120 s after which a device drops the channel', () => {
    const play = new Play().ready()
    expect(nextSessionDeadline(play.session)).toBe(90_000)
    expect(sent(play.wait(90_000))).toEqual([{ session_id: play.session.sessionId, type: 'pong' }])
    expect(nextSessionDeadline(play.session)).toBe(180_000)
    const quiet = new Play({ keepAliveMs: undefined }).ready()
    expect(nextSessionDeadline(quiet.session)).toBeUndefined()
  })

  it('answers a text ping with a pong', () => {
    const play = new Play().ready()
    expect(sent(play.text('{"type":"ping"}'))).toEqual([{ session_id: play.session.sessionId, type: 'pong' }])
  })

  it('starts discovery again at every hello, and ignores answers to the previous discovery', () => {
    const play = new Play()
    play.connect()
    play.text(HELLO)
    play.reply({ result: {} })
    const listId = play.session.flight?.id
    const before = play.session.sessionId
    play.text(HELLO)
    expect(play.session.sessionId).not.toBe(before)
    expect(play.session.flight?.id).toBe(listId)
    play.reply({ result: { tools: [VOLUME] } }, listId)
    expect(play.session).toMatchObject({ phase: 'initialising', tools: [] })
    expect(play.requests().map(({ method, id }) => [method, id])).toEqual([
      ['initialize', 1],
      ['tools/list', 2],
      ['initialize', 3],
    ])
  })
})

describe('a device that also answers other MCP clients', () => {
  it('has answers to other clients’ request ids ignored', () => {
    const { firstId } = DEFAULT_SESSION_SETTINGS
    const play = new Play({ firstId }).ready()
    play.call(7)
    expect(play.requests()).toMatchObject([{ method: 'tools/call', id: 10_003 }])
    // Firmware 2.4 sends what it answers to clients on its own port to the gateway, too; they count from one.
    for (const id of [1, 2, 3]) play.reply(text('somebody else’s'), id)
    expect(answers(play.effects)).toEqual([])
    play.reply(text('ours'))
    expect(answers(play.effects)).toMatchObject([{ call: 7, result: { ok: true } }])
  })
})

describe('an MQTT session', () => {
  it('sends initialize on connection, with an empty session id and before any hello', () => {
    const play = new Play()
    const effects = play.connect('mqtt')
    expect(effects[0]).toEqual({ kind: 'online' })
    expect(sent(effects)).toMatchObject([{ session_id: '', payload: { method: 'initialize', id: 1 } }])
  })

  it('answers hello with a UDP endpoint, and resets the session id at goodbye', () => {
    const play = new Play()
    const udp = { server: '192.168.1.2', port: 8884 }
    play.input({ kind: 'connected', transport: 'mqtt', seed: 's', vision: undefined, udp })
    const [hello] = sent(play.text('{"type":"hello","version":3,"features":{"mcp":true},"transport":"udp"}'))
    expect(hello).toMatchObject({
      transport: 'udp',
      udp: {
        server: '192.168.1.2',
        port: 8884,
        key: expect.stringMatching(/^[0-9a-f]{32}$/),
        nonce: expect.stringMatching(/^01000000[0-9a-f]{8}0{16}$/),
      },
    })
    expect(play.session.sessionId).toBe(hello?.['session_id'])
    play.text('{"type":"goodbye"}')
    expect(play.session.sessionId).toBe('')
  })

  it('over an external broker sends initialize before the device is known to be online', () => {
    const play = new Play()
    expect(play.connect('mqtt-broker')).toMatchObject([{ kind: 'send' }])
    expect(play.session.phase).toBe('greeting')
    for (const ms of [4_000, 2_000, 4_000, 4_000]) play.wait(ms)
    expect(play.wait(4_000)).toEqual([{ kind: 'close', reason: 'no answer' }])
    expect(play.requests().map(({ method }) => method)).toEqual(['initialize', 'initialize', 'initialize'])
    expect(play.input({ kind: 'disconnected', reason: 'no answer' })).toEqual([])
    play.connect('mqtt-broker')
    expect(play.reply({ result: {} })).toMatchObject([{ kind: 'online' }, { kind: 'send' }])
    expect(play.session.phase).toBe('listing')
  })

  it('over an external broker sends initialize again at the device’s hello', () => {
    const play = new Play()
    play.connect('mqtt-broker')
    play.text('{"type":"hello","features":{"mcp":true},"transport":"udp"}')
    expect(play.requests().map(({ method, id }) => [method, id])).toEqual([
      ['initialize', 1],
      ['initialize', 2],
    ])
  })

  it('over an external broker pings a quiet device and closes after two unanswered pings', () => {
    const play = new Play({ probeMs: 100_000, requestMs: 1_000 }).ready('mqtt-broker')
    expect(play.wait(100_000)).toMatchObject([{ kind: 'send' }])
    expect(play.requests().at(-1)).toMatchObject({ method: 'ping' })
    play.reply({ error: { message: 'Method not implemented: ping' } })
    play.wait(100_000)
    expect(play.wait(1_000)).toEqual([])
    play.wait(100_000)
    expect(play.wait(1_000)).toEqual([{ kind: 'close', reason: 'no answer' }])
  })
})

describe('tools/list', () => {
  it('follows the cursor, and sends withUserTools on every page', () => {
    const play = new Play({ withUserTools: true })
    play.connect('mqtt')
    play.reply({ result: {} })
    play.reply({ result: { tools: [VOLUME], nextCursor: STATUS.name } })
    play.reply({ result: { tools: [STATUS] } })
    expect(play.requests().slice(1)).toMatchObject([
      { method: 'tools/list', params: { cursor: '', withUserTools: true } },
      { method: 'tools/list', params: { cursor: STATUS.name, withUserTools: true } },
    ])
    expect(play.session.tools.map((tool) => tool.name)).toEqual([VOLUME.name, STATUS.name])
  })

  it.each([
    ['a cursor that repeats', { maxPages: 64 }, 'the list is incomplete: the cursor repeats itself'],
    ['too many pages', { maxPages: 1 }, 'the list is incomplete: the list goes on after 1 pages'],
    ['too many tools', { maxTools: 1 }, 'the list is incomplete: the device lists more than 1 tools'],
  ])('stops with a warning at %s', (_what, settings, warning) => {
    const play = new Play(settings)
    play.connect('mqtt')
    play.reply({ result: {} })
    play.reply({ result: { tools: [VOLUME, STATUS], nextCursor: 'x' } })
    if (play.session.phase === 'listing') play.reply({ result: { tools: [], nextCursor: 'x' } })
    expect(play.session.phase).toBe('ready')
    expect(play.session.warnings).toContain(warning)
  })

  it('keeps the tools listed so far when the device answers with its payload limit error', () => {
    const play = new Play()
    play.connect('mqtt')
    play.reply({ result: {} })
    play.reply({ result: { tools: [VOLUME], nextCursor: 'self.huge' } })
    play.reply({ error: { message: 'Failed to add tool self.huge because of payload size limit' } })
    expect(play.session).toMatchObject({ phase: 'ready', tools: [{ name: VOLUME.name }] })
    expect(play.session.warnings).toEqual([
      'the list is incomplete: Failed to add tool self.huge because of payload size limit',
    ])
  })

  it('is tried three times, then a minute later, and the previous tool list stays in use meanwhile', () => {
    const play = new Play().ready('mqtt')
    play.input({ kind: 'disconnected', reason: 'gone' })
    play.effects = []
    play.connect('mqtt')
    for (const ms of [15_000, 2_000, 15_000, 4_000, 15_000]) play.wait(ms)
    expect(play.requests().map(({ method }) => method)).toEqual(['initialize', 'initialize', 'initialize'])
    expect(play.session).toMatchObject({ phase: 'ready', tools: [{ name: VOLUME.name }, { name: STATUS.name }] })
    expect(play.session.warnings).toEqual(['the list is incomplete: initialize was not answered'])
    play.wait(60_000)
    expect(play.requests()).toHaveLength(4)
  })

  it('that is interrupted keeps tools that were not listed again as they were', () => {
    const play = new Play().ready('mqtt')
    play.connect('mqtt')
    play.reply({ result: {} })
    play.effects = []
    const louder = { ...VOLUME, description: 'Set the volume, louder.' }
    play.reply({ result: { tools: [louder], nextCursor: STATUS.name } })
    for (const ms of [15_000, 2_000, 15_000, 4_000, 15_000]) play.wait(ms)
    expect(play.session).toMatchObject({
      phase: 'ready',
      tools: [{ description: 'Set the volume, louder.' }, { name: STATUS.name }],
      warnings: ['the list is incomplete: tools/list was not answered'],
    })
  })

  it('reports whether the tool list has changed', () => {
    const play = new Play().ready()
    play.input({ kind: 'relist' })
    expect(play.reply({ result: { tools: [VOLUME, STATUS] } })).toEqual([{ kind: 'tools', changed: false }])
    play.input({ kind: 'relist' })
    expect(play.reply({ result: { tools: [STATUS] } })).toEqual([{ kind: 'tools', changed: true }])
  })
})

describe('a device tool call', () => {
  it('is sent with normalised arguments and answered with standard content', () => {
    const play = new Play().ready()
    expect(play.call(1, { arguments: { Volume: '50' } })).toMatchObject([{ kind: 'sent', call: 1 }, { kind: 'send' }])
    expect(play.requests()).toEqual([
      {
        jsonrpc: '2.0',
        method: 'tools/call',
        params: { name: 'self.audio_speaker.set_volume', arguments: { volume: 50 } },
        id: 3,
      },
    ])
    expect(play.reply(text('true'))).toEqual([
      {
        kind: 'answer',
        call: 1,
        result: {
          ok: true,
          value: { content: [{ type: 'text', text: 'true' }], isError: false, structured: undefined },
        },
      },
    ])
  })

  it('to an unlisted tool or with invalid arguments is refused without being sent', () => {
    const play = new Play().ready()
    expect(play.call(1, { tool: 'self.reboot' })).toEqual([
      refusal(1, { kind: 'unknown-tool', tool: 'self.reboot', listed: true }),
    ])
    expect(play.call(2, { arguments: { volume: 200 } })).toMatchObject([
      { result: { fault: { kind: 'invalid-arguments' } } },
    ])
    expect(play.requests()).toEqual([])
  })

  it('is sent after the call in flight is answered', () => {
    const play = new Play().ready()
    play.call(1)
    play.call(2)
    expect(play.requests()).toHaveLength(1)
    const effects = play.reply(text('true'))
    expect(effects).toMatchObject([{ kind: 'answer', call: 1 }, { kind: 'sent', call: 2 }, { kind: 'send' }])
  })

  it('is sent after the tools are listed', () => {
    const play = new Play()
    play.connect('mqtt')
    expect(play.call(1)).toEqual([])
    expect(play.call(2, { tool: 'self.none' })).toEqual([])
    play.reply({ result: {} })
    expect(play.reply({ result: { tools: [VOLUME] } })).toMatchObject([
      { kind: 'tools' },
      { kind: 'sent', call: 1 },
      { kind: 'send' },
    ])
    expect(play.reply(text('true'))).toMatchObject([
      { kind: 'answer', call: 1 },
      { kind: 'answer', call: 2, result: { fault: { kind: 'unknown-tool' } } },
    ])
  })

  it('times out counting from when it is sent, not from when it is queued', () => {
    const play = new Play().ready()
    play.call(1, { timeoutMs: 20_000 })
    play.call(2, { timeoutMs: 20_000 })
    expect(answers(play.wait(20_000))).toEqual([refusal(1, { kind: 'timed-out', afterMs: 20_000 })])
    expect(play.requests()).toHaveLength(2)
    expect(play.wait(19_999)).toEqual([])
    expect(play.wait(1)).toEqual([refusal(2, { kind: 'timed-out', afterMs: 20_000 })])
  })

  it('ignores the late answer to an earlier call', () => {
    const play = new Play().ready()
    play.call(1, { timeoutMs: 1_000 })
    play.wait(1_000)
    play.call(2)
    expect(play.reply(text('late'), 3)).toEqual([{ kind: 'ignored', what: 'late-answer' }])
    expect(play.reply(text('mine'), 4)).toMatchObject([{ kind: 'answer', call: 2 }])
    expect(play.reply(text('again'), 4)).toEqual([{ kind: 'ignored', what: 'late-answer' }])
  })

  it('expires when it has waited too long in the queue', () => {
    const play = new Play().ready()
    play.call(1, { timeoutMs: 90_000 })
    play.call(2, { waitMs: 5_000 })
    expect(play.wait(5_000)).toEqual([refusal(2, { kind: 'expired', afterMs: 5_000, asleep: false })])
  })

  it('is refused when the queue is full', () => {
    const play = new Play({ queueLimit: 2 }).ready()
    for (const call of [1, 2, 3]) expect(answers(play.call(call))).toEqual([])
    expect(play.call(4)).toEqual([refusal(4, { kind: 'queue-full', limit: 2 })])
  })

  it('fails with the device’s error message, with or without a code', () => {
    const play = new Play().ready()
    play.call(1)
    expect(play.reply({ error: { message: 'no' } })).toEqual([
      refusal(1, { kind: 'device-error', code: undefined as never, message: 'no' }),
    ])
    play.call(2)
    expect(play.reply({ error: { code: -32_603, message: 'no' } })).toEqual([
      refusal(2, { kind: 'device-error', code: -32_603, message: 'no' }),
    ])
  })

  it('is answered by a device error that is not valid JSON', () => {
    const play = new Play().ready()
    play.call(1)
    const broken = '{"session_id":"","type":"mcp","payload":{"jsonrpc":"2.0","id":3,"error":{"message":"a"b"}}}'
    expect(play.text(broken)).toEqual([refusal(1, { kind: 'device-error', code: undefined as never, message: 'a"b' })])
  })

  it('fails with bad-answer when the result has no content', () => {
    const play = new Play().ready()
    play.call(1)
    expect(play.reply({ result: {} })).toEqual([
      refusal(1, { kind: 'bad-answer', problem: 'the answer has no content' }),
    ])
  })

  it('is sent only after the camera has received a fresh upload token', () => {
    const play = new Play().ready()
    play.input({ kind: 'vision', vision: { url: 'http://h:1/vision', token: 'next' } })
    expect(play.effects).toEqual([])
    expect(play.call(1)).toMatchObject([{ kind: 'send' }])
    play.atMs += 5_000
    expect(play.reply({ result: {} })).toMatchObject([{ kind: 'sent', call: 1 }, { kind: 'send' }])
    expect(play.requests().map(({ method }) => method)).toEqual(['initialize', 'tools/call'])
    expect(play.requests()[0]).toMatchObject({ params: { capabilities: { vision: { token: 'next' } } } })
    expect(play.session.flight?.deadlineMs).toBe(35_000)
    play.reply(text('true'))
    expect(play.call(2)).toMatchObject([{ kind: 'sent', call: 2 }, { kind: 'send' }])
  })

  it('is sent when the device does not acknowledge the upload token in time', () => {
    const play = new Play().ready()
    play.input({ kind: 'vision', vision: { url: 'http://h:1/vision', token: 'next' } })
    play.call(1)
    expect(play.wait(15_000)).toMatchObject([{ kind: 'sent', call: 1 }, { kind: 'send' }])
  })

  it('waits for a new upload token after a call that timed out, whose photo may still arrive', () => {
    const play = new Play().ready()
    const next = (token: string) => play.input({ kind: 'vision', vision: { url: 'http://h:1/vision', token } })
    next('first')
    play.call(1, { timeoutMs: 1_000 })
    play.reply({ result: {} })
    play.call(2)
    expect(play.wait(1_000)).toEqual([refusal(1, { kind: 'timed-out', afterMs: 1_000 }), { kind: 'vision-stale' }])
    expect(next('second')).toMatchObject([{ kind: 'send' }])
    expect(play.reply({ result: {} })).toMatchObject([{ kind: 'sent', call: 2 }, { kind: 'send' }])
    expect(play.requests().map(({ method }) => method)).toEqual([
      'initialize',
      'tools/call',
      'initialize',
      'tools/call',
    ])
    play.input({ kind: 'cancel', call: 2 })
    expect(play.wait(30_000)).toEqual([{ kind: 'vision-stale' }])
  })

  it('that is cancelled after it was sent blocks the next call until the device answers', () => {
    const play = new Play().ready()
    play.call(1)
    play.call(2)
    play.call(3)
    expect(play.input({ kind: 'cancel', call: 3 })).toEqual([refusal(3, { kind: 'cancelled', sent: false })])
    expect(play.input({ kind: 'cancel', call: 1 })).toEqual([refusal(1, { kind: 'cancelled', sent: true })])
    expect(play.input({ kind: 'cancel', call: 1 })).toEqual([])
    expect(play.requests()).toHaveLength(1)
    expect(play.reply(text('true'))).toMatchObject([{ kind: 'sent', call: 2 }, { kind: 'send' }])
  })

  it('that is cancelled at its deadline fails with timed-out, not with cancelled', () => {
    const play = new Play().ready()
    play.call(1)
    play.atMs = 500
    play.call(2)
    play.atMs = 2_000
    expect([
      ...play.input({ kind: 'cancel', call: 2, late: true }),
      ...play.input({ kind: 'cancel', call: 1, late: true }),
    ]).toEqual([
      refusal(2, { kind: 'expired', afterMs: 1_500, asleep: false }),
      refusal(1, { kind: 'timed-out', afterMs: 2_000 }),
    ])
  })
})

describe('a disconnected device', () => {
  it('fails the call in flight and all queued calls', () => {
    const play = new Play().ready()
    play.call(1)
    play.call(2)
    expect(play.input({ kind: 'disconnected', reason: 'gone' })).toEqual([
      refusal(1, { kind: 'disconnected', sent: true }),
      refusal(2, { kind: 'disconnected', sent: false }),
      { kind: 'offline', reason: 'gone' },
    ])
    expect(play.session).toMatchObject({ phase: 'asleep', flight: undefined, queue: [] })
  })

  it('fails calls at once while asleep, unless they may outlast the sleep', () => {
    const play = new Play().ready()
    play.input({ kind: 'disconnected', reason: 'gone' })
    expect(play.call(1)).toEqual([refusal(1, { kind: 'asleep', device: DEVICE, wakesItself: false })])
    expect(play.call(2, { outlastsSleep: true })).toEqual([])
    expect(play.call(3, { outlastsSleep: true, arguments: {} })).toMatchObject([
      { result: { fault: { kind: 'invalid-arguments' } } },
    ])
    expect(nextSessionDeadline(play.session)).toBe(60_000)
    play.connect()
    play.text(HELLO)
    play.reply({ result: {} })
    expect(play.reply({ result: { tools: [VOLUME] } })).toMatchObject([
      { kind: 'tools' },
      { kind: 'sent', call: 2 },
      {},
    ])
  })

  it('lets waiting calls expire while it is asleep', () => {
    const play = new Play().ready()
    play.input({ kind: 'disconnected', reason: 'gone' })
    play.call(1, { outlastsSleep: true, waitMs: 1_000 })
    expect(play.wait(1_000)).toEqual([refusal(1, { kind: 'expired', afterMs: 1_000, asleep: true })])
  })

  it('is reported as one that reconnects by itself if it uses MQTT', () => {
    const play = new Play().ready('mqtt')
    play.input({ kind: 'disconnected', reason: 'gone' })
    expect(play.call(1)).toEqual([refusal(1, { kind: 'asleep', device: DEVICE, wakesItself: true })])
  })

  it('is replaced by its newest connection, and request ids continue', () => {
    const play = new Play().ready()
    play.call(1)
    expect(play.connect()).toMatchObject([
      { kind: 'answer', call: 1 },
      { kind: 'offline', reason: 'replaced' },
    ])
    play.effects = []
    play.text(HELLO)
    expect(play.requests()).toMatchObject([{ method: 'initialize', id: 4 }])
  })
})

describe('a message that the device sends by itself', () => {
  it('reaches subscribers if it is a notification, whatever its method', () => {
    const play = new Play().ready()
    const frame = (method: string, params: JsonObject) =>
      JSON.stringify({ type: 'mcp', payload: { jsonrpc: '2.0', method, params } })
    expect(play.text(frame('notifications/state_changed', { newState: 'idle', oldState: 'connecting' }))).toEqual([
      {
        kind: 'notification',
        method: 'notifications/state_changed',
        params: { newState: 'idle', oldState: 'connecting' },
      },
    ])
    expect(play.text(frame('stackchan/event', {}))).toMatchObject([{ method: 'stackchan/event' }])
  })

  it('triggers a new tools/list if it is list_changed, at most once per pause', () => {
    const play = new Play().ready('mqtt')
    const changed = '{"type":"mcp","payload":{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}}'
    play.text(changed)
    play.text(changed)
    expect(play.requests()).toEqual([])
    play.wait(2_000)
    play.reply({ result: {} })
    play.reply({ result: { tools: [STATUS] } })
    expect(play.requests().map(({ method }) => method)).toEqual(['initialize', 'tools/list'])
    expect(play.session).toMatchObject({ phase: 'ready', tools: [{ name: STATUS.name }] })
  })

  it('is ignored and counted if it is of another kind', () => {
    const play = new Play().ready()
    for (const [frame, what] of [
      ['nonsense', 'not-json'],
      ['{"type":"iot"}', 'iot'],
      ['{"type":"mcp","payload":7}', 'bad-rpc'],
      ['{"type":"mcp","payload":{"jsonrpc":"2.0","id":1,"method":"roots/list"}}', 'request-from-device'],
    ] as const)
      expect(play.text(frame)).toEqual([{ kind: 'ignored', what }])
    expect(play.session.phase).toBe('ready')
  })

  it('can be followed by an announcement to the device', () => {
    const play = new Play().ready()
    const announcement = { kind: 'alert', status: 'Door', message: 'Bell', emotion: 'happy' } as const
    expect(sent(play.input({ kind: 'announce', announcement }))).toMatchObject([{ type: 'alert', message: 'Bell' }])
  })
})

describe('request ids', () => {
  it('restart at 1 after 2^31 − 1', () => {
    const play = new Play().ready()
    play.session = { ...play.session, nextId: 2_147_483_647 }
    play.call(1)
    play.reply(text('true'))
    play.call(2)
    expect(play.requests().map(({ id }) => id)).toEqual([2_147_483_647, 1])
  })
})
