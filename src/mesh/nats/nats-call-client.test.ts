import type { Msg } from '@nats-io/transport-node'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { identityOf } from '../../../test/mesh-keys.ts'
import { signTextWithNodeKey } from '../identity/node-key.ts'
import type { NatsLink } from './nats-link-client.ts'
import { decodeNatsMessageToProvider, encodeNatsMessage, formatUnknownCallTextToSign } from './nats-payload.ts'
import type { NatsMessageToProvider } from './nats-payload.ts'
import { NatsCallClient } from './nats-call-client.ts'

const provider = identityOf(2)
const MESSAGE = { fields: { community: identityOf(3).id, key_id: 'k1' }, proof: 'p', body: '{}', idempotent: false }

/** A broker that does nothing but remember. */
function emptyBroker(): {
  link: NatsLink
  sent: { head: NatsMessageToProvider; reply: string }[]
  receive: (message: Partial<Msg>) => void
} {
  const sent: { head: NatsMessageToProvider; reply: string }[] = []
  let receive: (message: Partial<Msg>) => void = () => undefined
  const connection = {
    publish: (_: string, payload: Uint8Array, options?: { reply?: string }) => {
      const decoded = decodeNatsMessageToProvider(payload)
      if (decoded.ok) sent.push({ head: decoded.value.head, reply: options?.reply ?? '' })
    },
  }
  const subscribe = (_: string, listener: (message: Msg) => void): void => {
    receive = (message) => listener(message as Msg)
  }
  return {
    link: { connection, isUp: true, subscribe } as unknown as NatsLink,
    sent,
    receive: (message) => receive(message),
  }
}

const TO = { nodeId: provider.id, endpoint: { transport: 'nats' as const } }

describe('a call over NATS', () => {
  it('fails as offline, not begun and caused by this node, while this node is not connected', async () => {
    const link = { connection: undefined, isUp: false, subscribe: () => undefined } as unknown as NatsLink
    const caller = new NatsCallClient({ link, self: identityOf(1).id })
    caller.subscribe(identityOf(3).id)
    expect(await caller.send(TO, MESSAGE, new AbortController().signal)).toMatchObject({
      fault: { kind: 'offline', begun: false, ownSide: true },
    })
    caller.close()
  })

  it('ignores an answer sent to the reply subject of an earlier call', async () => {
    const { link, sent, receive } = emptyBroker()
    const caller = new NatsCallClient({ link, self: identityOf(1).id })
    caller.subscribe(identityOf(3).id)
    const answers: unknown[] = []
    void caller.send(TO, MESSAGE, new AbortController().signal)
    void caller.send(TO, MESSAGE, new AbortController().signal).then((answer) => answers.push(answer))
    const [first = '', second = ''] = sent.map(({ reply }) => reply)
    const prefix = first.slice(0, first.lastIndexOf('.'))
    const [, mark = ''] = first.split('_')
    for (const guess of ['1', `1_${mark}`, first])
      receive({ subject: guess === first ? first : `${prefix}.${guess}`, data: encodeNatsMessage({ t: 'forgotten' }) })
    await Promise.resolve()
    expect(answers).toEqual([])
    expect(second).toMatch(/\.1_[\w-]{16}$/)
    receive({ subject: second, data: encodeNatsMessage({ t: 'forgotten' }) })
    await expect.poll(() => answers).toMatchObject([{ fault: { kind: 'unknown-outcome' } }])
    caller.close()
  })

  it('is cancelled when the provider sends more frames than its credit allows', async () => {
    const { link, sent, receive } = emptyBroker()
    const caller = new NatsCallClient({ link, self: identityOf(1).id })
    caller.subscribe(identityOf(3).id)
    const taken: unknown[] = []
    const options = { signal: new AbortController().signal, emit: stuck(taken) }
    const streamed = caller.stream(TO, { ...MESSAGE, idempotent: true }, options)
    const reply = sent[0]?.reply ?? ''
    const frame = (n: number): void =>
      receive({ subject: reply, data: encodeNatsMessage({ t: 'frame', n, e: 'chunk' }, `{"n":${n}}`) })
    for (let n = 1; n <= 16; n++) frame(n)
    expect(sent).toHaveLength(1)
    frame(17)
    expect(sent[1]?.head).toEqual({ t: 'cancel', r: reply })
    expect(await streamed).toMatchObject({
      fault: { kind: 'failed', message: expect.stringMatching(/: it sent more frames than were asked for\.$/) },
    })
    expect(taken).toEqual([{ event: 'chunk', data: { n: 1 } }])
    caller.close()
  })
})

/** Takes one frame, and is never done with it. */
function stuck(taken: unknown[]): (frame: unknown) => Promise<void> {
  return (frame) => {
    taken.push(frame)
    return new Promise(() => undefined)
  }
}

describe('a call over NATS without an answer', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('counts as never received only after a signed statement that answers a fresh query', async () => {
    const { link, sent, receive } = emptyBroker()
    const caller = new NatsCallClient({ link, self: identityOf(1).id })
    caller.subscribe(identityOf(3).id)
    const answers: unknown[] = []
    void caller.send(TO, MESSAGE, new AbortController().signal).then((answer) => answers.push(answer))
    const reply = sent[0]?.reply ?? ''
    const answer = (text: string): void =>
      receive({ subject: reply, data: encodeNatsMessage({ t: 'unknown', p: signTextWithNodeKey(provider, text) }) })
    // Somebody may have asked before the call was sent, when it was true.
    answer(`unknown ${reply}`)
    answer(formatUnknownCallTextToSign(reply, 'made up'))
    await vi.advanceTimersByTimeAsync(2_000)
    expect(answers).toEqual([])
    const again = sent.at(-1)?.head
    if (again?.t !== 'again') throw new Error('it was not asked about')
    expect(again).toMatchObject({ r: reply, k: 'k1' })
    answer(formatUnknownCallTextToSign(reply, again.c))
    await vi.advanceTimersByTimeAsync(0)
    expect(answers).toMatchObject([{ ok: false, fault: { kind: 'offline' } }])
    caller.close()
  })
})
