import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { answering, echo, manifestOf, node, reply } from '../../../test/bus-village.ts'
import { runtimeRig } from '../../../test/runtime-rig.ts'
import type { Rig } from '../../../test/runtime-rig.ts'
import type { Call, Caller } from '../../bus/call.ts'
import { fail } from '../../core/result.ts'

const OBSERVER: Caller = { kind: 'principal', id: 'screen', role: 'observer' }

let rig: Rig
beforeEach(async () => {
  rig = await runtimeRig()
})
afterEach(() => rig.close())

describe('bus_topology', () => {
  it('lists the capabilities of the node with the field names of spec 2', async () => {
    rig.bus.registerCapability(answering({ name: 'light.read', params: { lampId: 7 } }, echo))
    await rig.through('light.read')
    expect(await rig.data('bus_topology', { prefix: 'light.' })).toMatchObject({
      our_node_id: 'node-a',
      community_id: null,
      peers: [],
      capabilities_local: [
        {
          node_id: 'node-a',
          name: 'light.read',
          version: '1.0',
          is_local: true,
          in_flight: 0,
          max_concurrent: 8,
          success_rate: 1,
          samples: 1,
          params: { lampId: 7 },
        },
      ],
      capabilities_remote: [],
    })
    const all = await rig.data('bus_topology')
    expect(all['capabilities_local']).toHaveLength(rig.bus.offers().length)
    // In brief, without what says nothing.
    expect((all['capabilities_local'] as { name: string }[]).find(({ name }) => name === 'bus_stats')).toEqual({
      name: 'bus_stats',
      version: '1.0',
      owner: 'runtime',
      stability: 'stable',
      effect: 'reads',
      max_concurrent: 64,
    })
  })
})

describe('bus_topology with many nodes', () => {
  const names = ({ capabilities_local: local, capabilities_remote: remote }: Record<string, unknown>): unknown[] =>
    [local, remote].map((entries) => (entries as { name: string }[]).map(({ name }) => name))

  it('is paged by name, with all providers of one name on one page', async () => {
    const attic = node('attic')
    for (const name of ['light.a', 'light.b', 'light.d']) attic.registerCapability(answering({ name }, echo))
    for (const name of ['light.c', 'light.b']) rig.bus.registerCapability(answering({ name }, echo))
    rig.bus.onPeerAdded(manifestOf(attic))
    const first = await rig.data('bus_topology', { prefix: 'light.', limit: 2 })
    expect(names(first)).toEqual([['light.b'], ['light.a', 'light.b']])
    expect(first).toMatchObject({ capabilities_total: 5, next_after: 'light.b' })
    const last = await rig.data('bus_topology', { prefix: 'light.', limit: 2, after: 'light.b' })
    expect(names(last)).toEqual([['light.c'], ['light.d']])
    expect(last).toMatchObject({ capabilities_total: 5 })
    expect(last).not.toHaveProperty('next_after')
  })

  it('lists at most 250 of thousands of capabilities and gives a cursor', async () => {
    for (let count = 0; count < 2_000; count++)
      rig.bus.registerCapability(answering({ name: `light.n${String(count).padStart(4, '0')}` }, echo))
    const all = await rig.data('bus_topology')
    expect(all['capabilities_local']).toHaveLength(250)
    expect(all).toMatchObject({ capabilities_total: rig.bus.offers().length, next_after: expect.any(String) as string })
  })
})

describe('bus_traces', () => {
  it('lists the last calls, newest first, and filters them', async () => {
    rig.bus.registerCapability(answering({ name: 'light.read' }, echo))
    await rig.through('light.read', {}, { traceId: '01K9Z3N8QK6R3M0V6V5A8B4C2E' })
    await rig.through('light.nowhere')
    await rig.through('light.read')
    expect(await rig.data('bus_traces', { limit: 2 })).toMatchObject({
      traces: [
        { capability: 'light.read', result: 'ok', to_node: 'node-a', caller: 'tester', channel: 'api' },
        { capability: 'light.nowhere', result: 'not_found' },
      ],
    })
    for (const filter of [{ trace_id: '01K9Z3N8QK6R3M0V6V5A8B4C2E' }, { result: 'not_found' }])
      expect((await rig.data('bus_traces', filter))['traces']).toHaveLength(1)
    for (const capability of ['light.read', 'light_read'])
      expect((await rig.data('bus_traces', { capability }))['traces']).toHaveLength(2)
  })
})

describe('bus_traces entry', () => {
  it('gives times in microsecond precision', async () => {
    const slow = async (call: Call) => {
      rig.clock.advance(12.345_678_9)
      return echo(call)
    }
    rig.bus.registerCapability(answering({ name: 'light.read' }, slow))
    await rig.through('light.read')
    expect(await rig.data('bus_traces', { capability: 'light.read' })).toMatchObject({
      traces: [{ ms: 12.346, stages: { provider: 12.346 } }],
    })
  })
})

describe('bus_stats', () => {
  it('counts calls and errors per capability', async () => {
    rig.bus.registerCapability(answering({ name: 'light.read' }, echo))
    await rig.through('light.read')
    await rig.through('light.nowhere')
    expect(await rig.data('bus_stats')).toMatchObject({
      calls: 2,
      in_flight: 0,
      cut_off: 0,
      capabilities: expect.arrayContaining([expect.objectContaining({ name: 'light.read', calls: 1, ok: 1 })]),
    })
  })
})

describe('router_score', () => {
  it('names the provider that the router chooses for the next call', async () => {
    for (const size of [1, 2])
      rig.bus.registerCapability(
        answering({ name: 'light.read', params: { size }, matches: { size: 'equals' } }, () =>
          Promise.resolve(reply(size)),
        ),
      )
    const score = await rig.data('router_score', { capability: 'light.read', arguments: { params: { size: 2 } } })
    expect(score).toMatchObject({
      capability: 'light.read',
      winner: { node_id: 'node-a', version: '1.0', is_local: true },
      scores: [
        { viable: false, reasons: ['version, params, node or trust do not fit'] },
        { viable: true, reasons: [], score: 450, cost_ms: 0 },
      ],
    })
    const winner = score['winner'] as { instance_id: string }
    const scores = score['scores'] as { instance_id: string }[]
    expect(winner.instance_id).toBe(scores[1]?.instance_id)
    expect(await rig.through('light.read', { params: { size: 2 } })).toMatchObject(reply(2))
  })

  it('marks a stale or busy provider as not viable, with the reason', async () => {
    const [far, busy] = [node('far'), node('busy')]
    for (const bus of [far, busy]) bus.registerCapability(answering({ name: 'light.read' }, echo))
    rig.bus.onPeerAdded(manifestOf(far))
    rig.clock.advance(61_000)
    rig.bus.onPeerAdded(manifestOf(busy))
    for (const entry of rig.bus.registry.named('light.read')) if (entry.nodeId === 'busy') entry.inFlight = 8
    expect(await rig.through('router_score', { capability: 'light.read' })).toMatchObject({
      ok: true,
      value: {
        data: {
          winner: null,
          scores: [
            { node_id: 'far', viable: false, reasons: ['stale'] },
            { node_id: 'busy', viable: false, reasons: ['busy'] },
          ],
        },
      },
    })
  })

  it('accepts the display name of a node, as a call does', async () => {
    const far = node('far')
    far.registerCapability(answering({ name: 'light.read', anywhere: true }, echo))
    rig.bus.onPeerAdded({ ...manifestOf(far), displayName: 'attic' })
    expect(await rig.through('router_score', { capability: 'light.read', node: 'attic' })).toMatchObject({
      value: { data: { scores: [{ node_id: 'far', viable: true }], winner: { node_id: 'far' } } },
    })
    expect(await rig.data('router_fallback', { node: 'attic' })).toMatchObject({ providers: [{ node_id: 'far' }] })
    expect(await rig.error('router_fallback', { node: 'cellar', reset: true })).toMatchObject({
      code: 'INVALID_PARAMS',
      message: 'node: No node is called "cellar" here; there is node-a, attic.',
    })
  })

  it('accepts a capability name with underscores for dots', async () => {
    rig.bus.registerCapability(answering({ name: 'light.read' }, echo))
    expect(await rig.data('router_score', { capability: 'light_read' })).toMatchObject({
      capability: 'light.read',
      scores: [{ viable: true }],
    })
    expect(await rig.through('router_call', { capability: 'light_read' })).toMatchObject({
      value: { data: { capability: 'light.read', served_by: 'node-a' } },
    })
    expect(await rig.data('router_fallback', { capability: 'light_read' })).toMatchObject({
      providers: [{ name: 'light.read' }],
    })
    expect(await rig.data('bus_topology', { prefix: 'light_' })).toMatchObject({
      capabilities_local: [{ name: 'light.read' }],
    })
  })

  it('suggests the closest names for an unknown capability', async () => {
    rig.bus.registerCapability(answering({ name: 'light.read' }, echo))
    const message = 'Nobody here offers light.raed. Did you mean light.read?'
    expect(await rig.data('router_score', { capability: 'light.raed' })).toMatchObject({ refusal: message })
    expect(await rig.error('router_call', { capability: 'light.raed' })).toMatchObject({ code: 'NOT_FOUND', message })
  })

  it('says why no provider is viable', async () => {
    expect(await rig.data('router_score', { capability: 'light.nowhere' })).toEqual({
      capability: 'light.nowhere',
      scores: [],
      winner: null,
      refusal: 'Nobody here offers light.nowhere.',
    })
    expect(await rig.data('router_score', { capability: 'task_get', version: '2.0' })).toMatchObject({
      winner: null,
      refusal: expect.stringContaining('task_get is not offered in version 2.0'),
    })
  })
})

describe('router_call', () => {
  it('makes the inner call through the whole chain as the same caller, under one trace id', async () => {
    const outcome = await rig.through('router_call', { capability: 'task_create', arguments: { title: 'x' } })
    expect(outcome).toMatchObject({
      ok: true,
      value: { data: { capability: 'task_create', served_by: 'node-a', data: { title: 'x', status: 'INIT' } } },
    })
    expect(rig.entries('call.enter')).toMatchObject([
      { tool: 'router_call', principal: 'tester', channel: 'api' },
      { tool: 'task_create', principal: 'tester', channel: 'api' },
    ])
    const [outer, inner] = rig.entries('call.enter')
    expect(inner?.['trace_id']).toBe(outer?.['trace_id'])
  })

  it('gives the caller no more rights than a direct call', async () => {
    const args = { capability: 'task_create', arguments: { title: 'x' } }
    const denied = await rig.through('router_call', args, { caller: OBSERVER })
    expect(denied).toMatchObject({ ok: false, fault: { kind: 'not-permitted', reasons: [{ rule: 'role' }] } })
    expect(await rig.through('router_call', { capability: 'task_list' }, { caller: OBSERVER })).toMatchObject({
      ok: true,
      value: { data: { data: { total: 0 } } },
    })
    expect(rig.entries('task.created')).toEqual([])
  })

  it('holds no lock that the inner call waits for', async () => {
    const calls = Array.from({ length: 8 }, (_, index) =>
      index % 2 === 0
        ? rig.through('router_call', { capability: 'task_create', arguments: { title: `${index}` } })
        : rig.through('task_create', { title: `${index}` }),
    )
    expect((await Promise.all(calls)).every(({ ok }) => ok)).toBe(true)
    expect(await rig.data('task_list')).toMatchObject({ total: 8 })
  })

  it('passes on the error of the inner call', async () => {
    expect(await rig.error('router_call', { capability: 'task_get', arguments: { id: 'nobody' } })).toEqual({
      code: 'HANDLER_ERROR',
      message: 'ERR_NOT_FOUND: There is no task nobody.',
      details: { code: 'ERR_NOT_FOUND', id: 'nobody' },
    })
    expect(await rig.error('router_call', { capability: 'task_get', arguments: { id: 1 } })).toMatchObject({
      code: 'INVALID_PARAMS',
      details: { issues: [{ path: ['id'] }] },
    })
    expect(await rig.error('router_call', { capability: 'light.nowhere' })).toMatchObject({ code: 'NOT_FOUND' })
  })

  it('refuses a call of itself', async () => {
    expect(await rig.error('router_call', { capability: 'router_call' })).toMatchObject({ code: 'INVALID_PARAMS' })
  })

  it('redacts the arguments in its own entry; the entry of the inner call redacts its secrets', async () => {
    rig.bus.registerCapability(answering({ name: 'light.read', secrets: ['combination'] }, echo))
    await rig.through('router_call', { capability: 'light.read', arguments: { combination: '1-2-3' } })
    const [outer, inner] = rig.entries('call.enter').map(({ seq }) => rig.ledger.body(Number(seq)))
    expect(outer).toMatchObject({ body: { args: { capability: 'light.read', arguments: '[redacted]' } } })
    expect(inner).toMatchObject({ body: { args: { combination: '[redacted]' } } })
    const answers = rig.entries('call.exit').map(({ seq }) => rig.ledger.body(Number(seq)))
    expect(JSON.stringify([outer, inner, answers])).not.toContain('1-2-3')
    expect(answers).toContainEqual(
      expect.objectContaining({ body: { result: expect.objectContaining({ data: '[redacted]' }) } }),
    )
  })

  it('passes the remaining time and the cancellation on to the inner call', async () => {
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<Call>()
    rig.bus.registerCapability(
      answering({ name: 'light.wait' }, (call) => {
        arrive(call)
        return new Promise((resolve) =>
          call.signal.addEventListener('abort', () => resolve(fail({ kind: 'cancelled', message: 'gone' }))),
        )
      }),
    )
    const controller = new AbortController()
    const args = { capability: 'light.wait', timeout_ms: 500 }
    const waiting = rig.through('router_call', args, { signal: controller.signal })
    const inner = await arrived
    expect(inner.deadlineMs - rig.clock.monotonic()).toBe(500)
    controller.abort()
    expect(await waiting).toMatchObject({ ok: false, fault: { kind: 'cancelled' } })
    expect(inner.signal.aborted).toBe(true)
  })
})

describe('router_fallback', () => {
  /**
   * Two instances that can stand in for each other, one of which always fails, and has a session that stays with it.
   */
  async function ejectOne(): Promise<void> {
    const once = { name: 'light.read', idempotent: false }
    const read = () => rig.through('light.read', {}, { sessionId: 'evening' })
    const dark = fail({ kind: 'failed' as const, message: 'dark' })
    rig.bus.registerCapability(answering({ ...once, params: { lamp: 1 } }, () => Promise.resolve(dark)))
    await read()
    rig.bus.registerCapability(answering({ ...once, params: { lamp: 2 } }, () => Promise.resolve(reply('light'))))
    for (let count = 0; count < 10; count++) await read()
  }

  it('shows which providers are quarantined and for how long', async () => {
    await ejectOne()
    expect(await rig.data('router_fallback', { capability: 'light.read' })).toMatchObject({
      providers: [
        { name: 'light.read', state: 'quarantined', quarantined_for_ms: 60_000, ejections: 1, success_rate: 0 },
        { name: 'light.read', state: 'trusted', quarantined_for_ms: 0 },
      ],
      omitted: 0,
      reset_count: 0,
    })
    rig.clock.advance(60_000)
    expect(await rig.data('router_fallback', { capability: 'light.read' })).toMatchObject({
      providers: [{ state: 'probe_due', quarantined_for_ms: 0 }, { state: 'trusted' }],
    })
    expect(await rig.data('router_stats')).toMatchObject({ quarantined: 1, quarantines: 1, providers_remote: 0 })
  })

  it('resets quarantines on request and records the reset', async () => {
    await ejectOne()
    expect(await rig.data('router_fallback', { capability: 'light.read', reset: true })).toMatchObject({
      providers: [{ state: 'trusted' }, { state: 'trusted' }],
      reset_count: 1,
    })
    expect(rig.entries('router.reset')).toMatchObject([
      { principal: 'tester', providers: [expect.stringContaining('light.read@1.0')] },
    ])
  })

  it('lets an observer read but not reset', async () => {
    expect(await rig.through('router_fallback', {}, { caller: OBSERVER })).toMatchObject({ ok: true })
    expect(await rig.through('router_fallback', { reset: true }, { caller: OBSERVER })).toMatchObject({
      ok: false,
      fault: { kind: 'not-permitted' },
    })
  })
})
