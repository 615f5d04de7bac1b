import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { AGENT, callOf } from '../../test/guard-house.ts'
import { collect, ME, node, streaming } from '../../test/bus-village.ts'
import type { JsonObject } from '../core/json.ts'
import { fail, ok } from '../core/result.ts'
import type { Call, Outcome } from './call.ts'
import type { Capability, Effect } from './capability.ts'
import type { CapabilityBus } from './bus.ts'
import { DELEGATING_CHANGE_STEPS, defineChange, defineTool } from './capability-definition.ts'
import { defaultFamilyEnvelope } from './default-family-envelope.ts'

const words = { title: 't', description: 'd', family: defaultFamilyEnvelope, output: z.json() } as const

/** A pipeline that plans and executes, as the guard's would where nothing speaks against it. */
function planning(change: Partial<Call> = {}): CapabilityBus {
  return node('a', {
    admit: async (call, offer, next) => {
      const planned = await offer?.plan?.(call)
      return next({ ...call, ...change, planned })
    },
  })
}

function registered(bus: CapabilityBus, ...capabilities: readonly Capability[]): CapabilityBus {
  for (const capability of capabilities) expect(bus.registerCapability(capability)).toEqual(ok(undefined))
  return bus
}

const dim = (seen: unknown[] = []): Capability =>
  defineChange({
    ...words,
    name: 'lamp.dim',
    input: z.strictObject({ level: z.number(), lamp: z.string().default('hall') }),
    effect: 'writes',
    plan: ({ level, lamp }) =>
      lamp === 'none' ? fail({ kind: 'not-found', message: 'no lamp' }) : ok({ lamp, from: 3, to: level }),
    assess: (plan, input) => {
      seen.push(['assess', plan, input])
      return { effect: 'writes', target: `lamp:${plan.lamp}`, reasons: [], preview: { ...plan } }
    },
    assessMistake: ({ level }) => ({ reasons: level > 100 ? [{ rule: 'bright', message: 'too bright' }] : [] }),
    rehearse: (plan) => ok({ data: { would: plan.to } }),
    act: (plan, input) => {
      seen.push(['act', plan, input])
      return ok({ data: { now: plan.to } })
    },
  })

describe('change definition', () => {
  it('passes one and the same plan to assess and to act', async () => {
    const seen: unknown[] = []
    const bus = registered(planning(), dim(seen))
    const outcome = await bus.call('lamp.dim', undefined, { level: 7, lamp: 'hall' }, ME)
    expect(outcome).toEqual(ok({ data: { now: 7 } }))
    const [assessed, acted] = seen as [unknown[], unknown[]]
    expect(assessed[1]).toEqual({ lamp: 'hall', from: 3, to: 7 })
    expect(acted[1]).toBe(assessed[1])
  })

  it('returns the argument error found by its plan, and assesses the call as reading', async () => {
    const { offer } = dim()
    const body = { level: 7, lamp: 'none' }
    expect(await offer.plan?.(callOf(offer, body))).toMatchObject({
      assessment: { effect: 'reads', reasons: [] },
      plan: { ok: false, fault: { kind: 'not-found' } },
    })
    const bus = registered(planning(), dim())
    expect(await bus.call('lamp.dim', undefined, body, ME)).toMatchObject({ fault: { message: 'no lamp' } })
  })

  it('assesses an argument error as the change itself if the family has reasons against the call', async () => {
    const { offer } = dim()
    expect(await offer.plan?.(callOf(offer, { level: 101, lamp: 'none' }))).toMatchObject({
      assessment: { effect: 'writes', reasons: [{ rule: 'bright' }] },
    })
  })

  it('rehearses instead of acting, or reports that it is unsupported', async () => {
    const seen: unknown[] = []
    const bus = registered(planning({ rehearsal: true }), dim(seen), plain('door.open', 'sensitive'))
    expect(await bus.call('lamp.dim', undefined, { level: 7, lamp: 'x' }, ME)).toEqual(ok({ data: { would: 7 } }))
    expect(seen.map((entry) => (entry as unknown[])[0])).toEqual(['assess'])
    expect(await bus.call('door.open', undefined, {}, ME)).toMatchObject({ fault: { kind: 'unsupported' } })
  })

  it('does not act without a plan or with a plan of another definition', async () => {
    const unplanned = registered(node('a', { admit: (call, _, next) => next(call) }), dim())
    expect(await unplanned.call('lamp.dim', undefined, { level: 1, lamp: 'x' }, ME)).toMatchObject({
      fault: { kind: 'internal' },
    })
    const other = plain('lamp.dim', 'sensitive')
    const replaced = node('b', {
      admit: async (call, _, next) => next({ ...call, planned: await other.offer.plan?.(call) }),
    })
    expect(await registered(replaced, dim()).call('lamp.dim', undefined, { level: 1, lamp: 'x' }, ME)).toMatchObject({
      fault: { kind: 'conflict', message: expect.stringContaining('Nothing was tried') },
    })
  })

  it('acts on a plan of an identical contract that was registered again meanwhile', async () => {
    const before = dim()
    const bus = node('a', {
      admit: async (call, _, next) => next({ ...call, planned: await before.offer.plan?.(call) }),
    })
    expect(await registered(bus, dim()).call('lamp.dim', undefined, { level: 1, lamp: 'x' }, ME)).toEqual(
      ok({ data: { now: 1 } }),
    )
  })

  it('can stream frames', async () => {
    const change = defineChange({
      ...words,
      name: 'blind.move',
      input: z.strictObject({ to: z.number() }),
      frames: z.strictObject({ event: z.string(), data: z.number() }),
      effect: 'writes',
      plan: ({ to }) => ok([1, to]),
      assess: () => ({ effect: 'writes', reasons: [] }),
      actStream: async function* (steps) {
        for (const data of steps) yield { event: 'step', data }
        return ok({ data: 'there' })
      },
    })
    const bus = registered(planning(), change)
    const stream = bus.stream('blind.move', undefined, { to: 2 }, ME)
    expect([await collect(stream), await stream.outcome]).toEqual([
      [
        { event: 'step', data: 1 },
        { event: 'step', data: 2 },
      ],
      ok({ data: 'there' }),
    ])
  })
})

describe('registration', () => {
  it.each(['writes', 'sensitive', 'admin'] as const)(
    'of a capability that %s is refused without an assessment',
    (effect) => {
      const { plan: _, ...offer } = plain('door.open', effect).offer
      expect(node('a').registerCapability({ offer, handle: async () => ok({ data: 1 }) })).toMatchObject({
        fault: { kind: 'unsupported', message: expect.stringContaining('defineChange') },
      })
    },
  )

  it('of a capability that changes something requires defineChange with assess, checked by the compiler', () => {
    // @ts-expect-error what changes something is no tool but a change
    const tool = defineTool({ ...words, name: 'x', input: z.strictObject({}), effect: 'writes' })
    expect(node('a').registerCapability(tool.handledBy(async () => ok({ data: 1 })))).toMatchObject({ ok: false })
    const steps = { plan: () => ok(1), act: () => ok({ data: 1 }) } as const
    // @ts-expect-error a change says what it would do
    const forgetful = () => defineChange({ ...words, ...steps, name: 'x', input: z.strictObject({}), effect: 'writes' })
    expect(forgetful).toThrow('assess is missing')
  })
})

describe('a handler that calls another capability', () => {
  it('passes on caller, trace, deadline, held locks, rehearsal and remaining hops', async () => {
    const calls: Call[] = []
    const inner = readingTool('in.look', async (_, call) => {
      calls.push(call)
      return ok({ data: 1 })
    })
    const outer = readingTool('out.look', async (_, context) => {
      calls.push(context)
      return context.call('in.look', {})
    })
    const bus = registered(
      node('a', {
        admit: (call, _, next) => next({ ...call, heldLocks: [...call.heldLocks, call.capability], rehearsal: true }),
      }),
      outer,
      inner,
    )
    await bus.call('out.look', undefined, {}, { ...ME, caller: AGENT, timeoutMs: 700, hopBudget: 3 })
    const [from, to] = calls
    expect(to).toMatchObject({
      caller: AGENT,
      channel: from?.channel,
      traceId: from?.traceId,
      heldLocks: ['out.look', 'in.look'],
      rehearsal: true,
      hopBudget: 3,
      deadlineMs: 700,
    })
  })

  it('passes the profiles of the caller on, unless its own tool composes others', async () => {
    const restrictions = { profiles: ['voice'], devices: ['device:lamp'], effects: ['reads'] } as const
    const caller = { kind: 'principal', id: 'kitchen', role: 'agent', restrictions } as const
    const callers: Call['caller'][] = []
    const inner = readingTool('in.look', async (_, call) => {
      callers.push(call.caller)
      return ok({ data: 1 })
    })
    const passOn: Parameters<typeof readingTool>[1] = (_, context) => context.call('in.look', {})
    const composing = readingTool('composing.look', passOn)
    const bus = registered(node('a'), inner, readingTool('passing.look', passOn), {
      ...composing,
      offer: { ...composing.offer, composes: true },
    })
    for (const name of ['composing.look', 'passing.look']) await bus.call(name, undefined, {}, { ...ME, caller })
    const { profiles: _profiles, ...rest } = restrictions
    expect(callers).toEqual([{ ...caller, restrictions: rest }, caller])
  })

  it('limits the inner call to the remaining time and cancels it with the outer call', async () => {
    let heard: AbortSignal | undefined
    const inner = readingTool('in.wait', (_, call) => {
      heard = call.signal
      return new Promise((resolve) => call.signal.addEventListener('abort', () => resolve(fail(GONE))))
    })
    const outer = readingTool('out.wait', (_, context) =>
      context.call('in.wait', {}, { timeoutMs: 60_000, isLocal: true }),
    )
    const leaving = new AbortController()
    const asked = registered(node('a'), outer, inner).call('out.wait', undefined, {}, { ...ME, signal: leaving.signal })
    await Promise.resolve()
    leaving.abort()
    expect(await asked).toMatchObject({ fault: { kind: 'cancelled' } })
    expect(heard?.aborted).toBe(true)
  })

  it('can stream from the inner call', async () => {
    const inner = streaming({ name: 'in.count' }, async function* () {
      yield { event: 'n', data: 1 }
      return ok({ data: 'done' })
    })
    const outer = readingTool('out.count', async (_, context) => {
      const frames = await collect(context.stream('in.count', {}))
      return ok({ data: frames.length })
    })
    expect(await registered(node('a'), outer, inner).call('out.count', undefined, {}, ME)).toEqual(ok({ data: 1 }))
  })

  it('rehearses by calling on if it changes nothing itself', async () => {
    const rehearsals: boolean[] = []
    const inner = readingTool('in.look', async (_, call) => {
      rehearsals.push(call.rehearsal)
      return ok({ data: 1 })
    })
    const forward = defineChange({
      ...words,
      name: 'out.any',
      input: z.strictObject({}),
      effect: 'writes',
      ...DELEGATING_CHANGE_STEPS,
      act: (_plan, _input, context) => context.call('in.look', {}),
    })
    const bus = registered(planning({ rehearsal: true }), forward, inner)
    expect(await bus.call('out.any', undefined, {}, ME)).toEqual(ok({ data: 1 }))
    expect(rehearsals).toEqual([true])
  })
})

const GONE = { kind: 'cancelled', message: 'gone' } as const

function plain(name: string, effect: Exclude<Effect, 'reads'>): Capability {
  return defineChange({
    ...words,
    name,
    input: z.strictObject({}),
    effect,
    plan: () => ok(undefined),
    assess: () => ({ effect, reasons: [] }),
    act: () => ok({ data: 1 }),
  })
}

function readingTool(
  name: string,
  handler: (
    input: JsonObject,
    context: Parameters<Parameters<ReturnType<typeof defineTool>['handledBy']>[0]>[1],
  ) => Promise<Outcome>,
): Capability {
  return defineTool({ ...words, name, input: z.strictObject({}), effect: 'reads' }).handledBy(handler)
}
