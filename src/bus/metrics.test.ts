import { describe, expect, it } from 'vitest'
import { answering, echo, introduce, ME, node, reply, settled, streaming } from '../../test/bus-village.ts'
import { manualClock } from '../../test/manual-clock.ts'
import { createBusMetrics } from './metrics.ts'

describe('bus metrics', () => {
  it('contain the counters in Prometheus format', async () => {
    const clock = manualClock()
    const bus = node('a', { clock })
    bus.registerCapability(
      answering({ name: 'x.y', requestSchema: { required: ['ms'] } }, (call) => {
        clock.advance(Number(call.body['ms']))
        return Promise.resolve(reply(null))
      }),
    )
    for (const ms of [0.05, 3, 3, 40, 9_000]) await bus.call('x.y', [1, 0], { ms }, ME)
    await bus.call('x.y', [1, 0], {}, ME)
    await bus.call('no.such', [1, 0], {}, ME)
    const text = await createBusMetrics(bus).metrics()
    const lines = text.split('\n')
    expect(lines).toEqual(
      expect.arrayContaining([
        'hearthbus_requests_total{capability="x.y",result="ok"} 5',
        'hearthbus_requests_total{capability="x.y",result="schema_mismatch"} 1',
        'hearthbus_requests_total{capability="unknown",result="not_found"} 1',
        '# TYPE hearthbus_request_duration_ms histogram',
        'hearthbus_request_duration_ms_bucket{capability="x.y",le="0.1"} 2',
        'hearthbus_request_duration_ms_bucket{capability="x.y",le="5"} 4',
        'hearthbus_request_duration_ms_bucket{capability="x.y",le="50"} 5',
        'hearthbus_request_duration_ms_bucket{capability="x.y",le="5000"} 5',
        'hearthbus_request_duration_ms_bucket{capability="x.y",le="+Inf"} 6',
        'hearthbus_request_duration_ms_count{capability="x.y"} 6',
        'hearthbus_capability_health_success_rate{capability="x.y",node="a"} 1',
        'hearthbus_quarantines_total 0',
        'hearthbus_nodes_online{community=""} 1',
        'hearthbus_in_flight 0',
      ]),
    )
  })

  it('have the same text when they are read twice', async () => {
    const bus = node('a')
    bus.registerCapability(answering({ name: 'x.y' }, echo))
    await bus.call('x.y', [1, 0], {}, ME)
    const { text, contentType } = await bus.metrics()
    expect(contentType).toContain('text/plain')
    expect(await bus.metrics()).toEqual({ text, contentType })
  })

  it('contain active streams, tokens, online nodes and calls refused for load', async () => {
    const clock = manualClock()
    const [a, b] = [node('a', { clock }), node('b', { clock })]
    a.registerCapability(
      streaming({ name: 'llm.chat', params: { model: 'm7', backend: 'local' }, maxConcurrent: 1 }, async function* () {
        yield { event: 'token', data: 'x' }
        return { ok: true, value: { data: null, usage: { tokensOut: 12 } } }
      }),
    )
    introduce(a, b)
    const stream = a.stream('llm.chat', [1, 0], {}, ME)
    await settled()
    const refused = a.call('llm.chat', [1, 0], {}, ME)
    await settled()
    clock.advance(10_000)
    a.tick()
    await refused
    const metrics = createBusMetrics(a)
    const during = await metrics.metrics()
    expect(during).toContain('hearthbus_active_streams{capability="llm.chat"} 1')
    expect(during).toContain('hearthbus_rate_limited_total{capability="llm.chat",reason="capacity_exceeded"} 1')
    expect(during).toContain('hearthbus_nodes_online{community=""} 2')
    await stream.next()
    await stream.next()
    await stream.outcome
    const after = await metrics.metrics()
    expect(after).toContain('hearthbus_active_streams{capability="llm.chat"} 0')
    expect(after).toContain('hearthbus_llm_tokens_generated_total{model="m7",backend="local"} 12')
  })
})
