import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { stepSession } from './session-machine.ts'
import type { SessionEffect, SessionInput, DeviceSession } from './session.ts'
import { DEFAULT_SESSION_SETTINGS, newDeviceSession } from './session.ts'
import { nextSessionDeadline } from './deadlines.ts'

const TOOL = { name: 't', description: '', inputSchema: { type: 'object', properties: {} } }

const rpc = (payload: unknown) => JSON.stringify({ type: 'mcp', payload })

/** What a device might say: the right thing, a wrong id, an error, noise. */
const frames = fc.oneof(
  fc.constant('{"type":"hello","features":{"mcp":true}}'),
  fc
    .record({ id: fc.integer({ min: 1, max: 30 }), tools: fc.boolean(), cursor: fc.constantFrom(undefined, 'a', 'b') })
    .map(({ id, tools, cursor }) =>
      rpc({
        jsonrpc: '2.0',
        id,
        result: tools ? { tools: [TOOL], nextCursor: cursor } : { content: [{ type: 'text', text: 'x' }] },
      }),
    ),
  fc.integer({ min: 1, max: 30 }).map((id) => rpc({ jsonrpc: '2.0', id, error: { message: 'no' } })),
  fc.string(),
  fc.constantFrom('{"type":"ping"}', '{"type":"goodbye"}', rpc({ jsonrpc: '2.0', method: 'n' })),
)

type Untimed = (call: number, atMs: number) => SessionInput

const inputs: fc.Arbitrary<Untimed> = fc.oneof(
  fc.constantFrom('websocket', 'mqtt', 'mqtt-broker').map((transport): Untimed => (_call, atMs) => ({
    kind: 'connected',
    atMs,
    transport,
    seed: 's',
    vision: undefined,
    udp: undefined,
  })),
  {
    weight: 6,
    arbitrary: frames.map((text): Untimed => (_call, atMs) => ({ kind: 'text', atMs, text })),
  },
  fc.constant<Untimed>((_call, atMs) => ({ kind: 'disconnected', atMs, reason: 'gone' })),
  {
    weight: 4,
    arbitrary: fc
      .record({ outlastsSleep: fc.boolean(), photo: fc.boolean() })
      .map(({ outlastsSleep, photo }): Untimed => (call, atMs) => ({
        kind: 'call',
        atMs,
        request: {
          call,
          tool: 't',
          arguments: {},
          timeoutMs: 1_000,
          waitMs: 5_000,
          outlastsSleep,
          vision: photo ? { url: 'http://h:1/', token: 'k' } : undefined,
        },
      })),
  },
  fc.integer({ min: 1, max: 20 }).map((call): Untimed => (_call, atMs) => ({ kind: 'cancel', atMs, call })),
  fc.constant<Untimed>((_call, atMs) => ({ kind: 'tick', atMs })),
  fc.constant<Untimed>((_call, atMs) => ({ kind: 'vision', atMs, vision: { url: 'http://h:1/', token: 'k' } })),
)

function run(script: readonly { readonly make: Untimed; readonly afterMs: number }[]) {
  let session: DeviceSession = newDeviceSession('a0:b1:c2:d3:e4:f5', {
    ...DEFAULT_SESSION_SETTINGS,
    firstId: 1,
    queueLimit: 4,
  })
  let atMs = 0
  const effects: SessionEffect[] = []
  const calls: number[] = []
  const feed = (input: SessionInput) => {
    const next = stepSession(session, input)
    expect(next.session.queue.length).toBeLessThanOrEqual(4)
    effects.push(...next.effects)
    session = next.session
  }
  for (const [index, { make, afterMs }] of script.entries()) {
    atMs += afterMs
    const input = make(index + 1, atMs)
    if (input.kind === 'call') calls.push(input.request.call)
    feed(input)
  }
  feed({ kind: 'disconnected', atMs, reason: 'end' })
  // Ticks at the deadlines the machine itself asks for are enough to answer everybody.
  for (let rounds = 0; rounds < 50; rounds++) {
    const due = nextSessionDeadline(session)
    if (due === undefined) break
    atMs = Math.max(atMs, due)
    feed({ kind: 'tick', atMs })
  }
  return { session, effects, calls }
}

const scripts = fc.array(fc.record({ make: inputs, afterMs: fc.integer({ min: 0, max: 4_000 }) }), { maxLength: 60 })

describe('session machine under random inputs', () => {
  it('answers every call exactly once', () => {
    fc.assert(
      fc.property(scripts, (script) => {
        const { effects, calls } = run(script)
        const answered = effects.flatMap((effect) => (effect.kind === 'answer' ? [effect.call] : []))
        expect(answered.toSorted((a, b) => a - b)).toEqual(calls)
      }),
      { numRuns: 400 },
    )
  })

  it('has no deadline, call or queue left once the device is gone and all waits have expired', () => {
    fc.assert(
      fc.property(scripts, (script) => {
        const { session } = run(script)
        expect(nextSessionDeadline(session)).toBeUndefined()
        expect(session).toMatchObject({ phase: 'asleep', flight: undefined, queue: [], link: undefined })
      }),
      { numRuns: 200 },
    )
  })

  it('gives every request its own id', () => {
    fc.assert(
      fc.property(scripts, (script) => {
        const ids = run(script).effects.flatMap((effect) => {
          const id = effect.kind === 'send' ? /"id":(\d+)\}\}$/.exec(effect.text)?.[1] : undefined
          return id === undefined ? [] : [Number(id)]
        })
        expect(ids).toEqual(ids.map((_id, index) => index + 1))
      }),
      { numRuns: 200 },
    )
  })
})
