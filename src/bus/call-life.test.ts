import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { answering, echo, ME, node, offered, settled } from '../../test/bus-village.ts'
import { manualClock } from '../../test/manual-clock.ts'
import type { ContentBlock } from './call.ts'
import { openCallTicket } from './call-factory.ts'
import { toCallRecordReferenceJson } from './call-ticket.ts'
import type { RunningCallTicket } from './call-ticket.ts'
import { CapabilityEntry } from './capability-entry.ts'
import { ProviderHealth } from './health.ts'
import { checkReplySchema } from './schema-validation.ts'
import { StickySessions } from './sticky-sessions.ts'

describe('state after a call', () => {
  it('contains no listener on the signal of the caller', async () => {
    const bus = node('a')
    bus.registerCapability(answering({ name: 'x.y' }, echo))
    const { signal } = new AbortController()
    for (let count = 0; count < 3; count++) await bus.call('x.y', [1, 0], {}, { ...ME, signal })
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  it('contains a trace id with the time at which the call began', async () => {
    const clock = manualClock()
    const bus = node('a', { clock })
    bus.registerCapability(answering({ name: 'x.y' }, echo))
    await bus.call('x.y', [1, 0], {}, ME)
    clock.advance(32_768)
    await bus.call('x.y', [1, 0], {}, ME)
    const [later = '', earlier = ''] = bus.recentTraces().map(({ traceId }) => traceId)
    // ULID: the first ten digits count milliseconds in base 32, so the fourth from the right counts 32 × 32 × 32.
    const digits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
    const timeOf = (id: string): number =>
      id
        .slice(0, 10)
        .split('')
        .reduce((sum, digit) => sum * 32 + digits.indexOf(digit), 0)
    expect([timeOf(earlier), timeOf(later)]).toEqual([clock.now() - 32_768, clock.now()])
  })

  it('contains one latency sample for a provider that recovered by a probe', () => {
    const health = new ProviderHealth()
    for (let count = 0; count < 5; count++)
      health.record({ success: false, latencyMs: 1, nowMs: 0, isProbe: false, mayEject: true })
    health.startProbe()
    health.record({ success: true, latencyMs: 20, nowMs: 60_000, isProbe: true, mayEject: true })
    expect([health.samples, health.p50Ms]).toEqual([1, 20])
  })

  it('contains a session binding that a sweep soon afterwards keeps, on a node with a long uptime', () => {
    const sticky = new StickySessions()
    const identity = { nodeId: 'b', instanceId: 'default', isLocal: false, owner: 'b' }
    const entry = new CapabilityEntry({ ...identity, offer: offered({ name: 'llm.chat' }), lastSeenMs: 0 })
    const monthsMs = 10_000_000_000
    sticky.bind('s', entry, monthsMs)
    sticky.sweep(monthsMs + 1)
    expect(sticky.bound('s', 'llm.chat', monthsMs + 1)).toBe(entry)
  })
})

describe('end of a call', () => {
  /** A call, and a listener that writes down with which cause it was told. */
  function opened() {
    const ticket = openCallTicket(undefined, 0)
    const causes: unknown[] = []
    const listener = { callEnded: ({ cause }: RunningCallTicket): void => void causes.push(cause) }
    return { ticket, causes, listener }
  }

  it('is reported once, with the first cause', () => {
    const { ticket, causes, listener } = opened()
    ticket.employ(listener)
    ticket.end('deadline')
    ticket.end('cancelled', new Error('the caller left'))
    expect([ticket.cause, causes]).toEqual(['deadline', ['deadline']])
    expect(ticket.signal.reason).toMatchObject({ name: 'TimeoutError' })
  })

  it('is reported at once to a listener that is added afterwards', () => {
    const { ticket, causes, listener } = opened()
    ticket.end('cancelled')
    ticket.employ(listener)
    expect(causes).toEqual(['cancelled'])
    expect(ticket.signal.reason).toMatchObject({ name: 'AbortError' })
  })

  it('is not reported to a listener that was removed', () => {
    const { ticket, causes, listener } = opened()
    const another = (name: string) => ({ callEnded: (): void => void causes.push(name) })
    const [second, third] = [another('second'), another('third')]
    for (const each of [listener, second, third]) ticket.employ(each)
    ticket.dismiss(second)
    ticket.dismiss(listener)
    ticket.end('deadline')
    expect(causes).toEqual(['third'])
  })

  it('by cancellation does not count against a provider that ignored the signal', async () => {
    const clock = manualClock()
    const bus = node('a', { clock })
    bus.registerCapability(answering({ name: 'x.y', effect: 'writes' }, () => new Promise(() => undefined)))
    const controller = new AbortController()
    const answer = bus.call('x.y', [1, 0], {}, { ...ME, signal: controller.signal })
    await settled()
    controller.abort()
    clock.advance(200)
    bus.tick()
    expect(await answer).toMatchObject({ fault: { kind: 'unknown-outcome', code: 'cancelled' } })
    expect(bus.registry.named('x.y')[0]?.health.samples).toBe(0)
  })

  it('leaves work running until the last of several providers has stopped', async () => {
    const { ticket } = opened()
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    ticket.linger(first.promise)
    ticket.linger(second.promise)
    second.resolve()
    await settled()
    expect(ticket.stillWorking).toBeInstanceOf(Promise)
    first.resolve()
    await settled()
    expect(ticket.stillWorking).toBeUndefined()
  })
})

describe('reference to the ledger record of a call', () => {
  it('contains only the approval or the grant that the call depended on', () => {
    const record = { traceId: 't', logIndex: 1, endLogIndex: 2 }
    const encoded = { trace_id: 't', log_index: 1, end_log_index: 2 }
    expect(toCallRecordReferenceJson(record)).toEqual(encoded)
    expect(toCallRecordReferenceJson({ ...record, approval: 'p' })).toEqual({ ...encoded, approval: 'p' })
    expect(toCallRecordReferenceJson({ ...record, grant: 'g' })).toEqual({ ...encoded, grant: 'g' })
  })
})

describe('handler of a capability', () => {
  it('gets rehearsal false unless the caller requested a rehearsal', async () => {
    const bus = node('a')
    const seen: unknown[] = []
    bus.registerCapability(
      answering({ name: 'x.y' }, (call) => {
        seen.push(call.rehearsal)
        return echo(call)
      }),
    )
    await bus.call('x.y', [1, 0], {}, ME)
    expect(seen).toEqual([false])
  })

  it('is timed with the monotonic clock, even if the wall clock is changed', async () => {
    const clock = manualClock()
    clock.advance(5_000)
    const bus = node('a', { clock })
    bus.registerCapability(
      answering({ name: 'x.y' }, (call) => {
        clock.advance(7)
        return echo(call)
      }),
    )
    await bus.call('x.y', [1, 0], {}, ME)
    expect(bus.recentTraces(1)[0]?.stages['provider']).toBe(7)
  })

  it('may return only content blocks as content', async () => {
    const bus = node('a')
    const content = [{ type: 'text', text: 'x' }, 5] as unknown as readonly ContentBlock[]
    bus.registerCapability(answering({ name: 'x.y' }, async () => ({ ok: true, value: { data: {}, content } })))
    expect(await bus.call('x.y', [1, 0], {}, ME)).toMatchObject({ ok: false, fault: { kind: 'internal' } })
  })
})

describe('an answer of another node', () => {
  it('gets different faults if it contradicts its contract and if it cannot be checked', () => {
    const offer = { ...offered({ name: 'x.y', responseSchema: { type: 'string' } }), isFromPeer: true as const }
    expect(checkReplySchema(offer, { data: 5 })?.message).toMatch(/does not allow/)
    const costly = { ...offer, responseSchema: { uniqueItems: true } }
    const data = Array.from({ length: 60_000 }, (_, index) => [index, index + 1])
    expect(checkReplySchema(costly, { data })?.message).toMatch(/cannot be checked/)
  })
})
