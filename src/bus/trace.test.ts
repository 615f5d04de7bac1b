import { describe, expect, it } from 'vitest'
import { answering, callOf, echo, ME, node, offered, reply } from '../../test/bus-village.ts'
import { manualClock } from '../../test/manual-clock.ts'
import { isUlid } from '../core/ids.ts'
import { requireCallTicket } from './call-ticket.ts'
import { TraceBuffer, TRACE_BUFFER_CAPACITY } from './trace.ts'

describe('trace buffer', () => {
  it('keeps the last 10,000 calls, newest first', () => {
    const trace = new TraceBuffer('a', manualClock())
    for (let count = 0; count < TRACE_BUFFER_CAPACITY + 500; count++) {
      const call = callOf('x.y', { traceId: `t${count}` })
      trace.onCallEnd(call, requireCallTicket(call), reply(null))
    }
    expect(trace.recent(2).map(({ traceId }) => traceId)).toEqual(['t10499', 't10498'])
    const all = trace.recent(1_000_000)
    expect([all.length, all.at(-1)?.traceId, trace.recorded]).toEqual([10_000, 't500', 10_500])
    expect(trace.recent()).toHaveLength(50)
    expect(trace.recent(-1)).toEqual([])
  })

  it('gives every call a new ULID, or keeps the trace id of the caller', async () => {
    const bus = node('a')
    bus.registerCapability(answering({ name: 'x.y' }, echo))
    await bus.call('x.y', [1, 0], {}, ME)
    await bus.call('x.y', [1, 0], {}, ME)
    await bus.call('x.y', [1, 0], {}, { ...ME, traceId: '01K9Z3N8QK6R3M0V6V5A8B4C2D' })
    const ids = bus.recentTraces().map(({ traceId }) => traceId)
    expect(ids.every(isUlid)).toBe(true)
    expect([new Set(ids).size, ids[0]]).toEqual([3, '01K9Z3N8QK6R3M0V6V5A8B4C2D'])
  })

  it('records the time of each stage, whichever copy of the call it was marked on', async () => {
    const clock = manualClock()
    const bus = node('a', {
      clock,
      admit: async (call, _, proceed) => {
        call.ticket?.mark('lock', 3)
        const outcome = await proceed({ ...call, body: { changed: true } })
        call.ticket?.mark('audit', 2)
        call.ticket?.mark('audit', 5)
        return outcome
      },
    })
    bus.registerCapability(
      answering({ name: 'x.y' }, (call) => {
        clock.advance(20)
        call.ticket?.bytes(100, 40)
        call.ticket?.bytes(1, 2)
        return Promise.resolve(reply(call.body))
      }),
    )
    await bus.call('x.y', [1, 0], {}, ME)
    expect(bus.recentTraces()).toMatchObject([
      { ms: 20, bytesIn: 101, bytesOut: 42, stages: { lock: 3, audit: 7, provider: 20 } },
    ])
  })

  it('records a call that the pipeline refused, without a node', async () => {
    const refused = { ok: false, fault: { kind: 'not-permitted', message: 'read-only' } } as const
    const bus = node('a', { admit: () => Promise.resolve(refused) })
    bus.registerCapability({ offer: offered({ name: 'x.y' }), handle: echo })
    await bus.call('x.y', [1, 0], {}, ME)
    expect(bus.recentTraces()).toMatchObject([{ result: 'not-permitted', toNode: undefined, attempts: 0, stages: {} }])
  })

  it('keeps no arguments and no secrets', async () => {
    const bus = node('a')
    bus.registerCapability(answering({ name: 'x.y' }, echo))
    await bus.call('x.y', [1, 0], { password: 'hunter2' }, ME)
    expect(JSON.stringify(bus.recentTraces())).not.toContain('hunter2')
  })
})
