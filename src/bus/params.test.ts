import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { answering, ME, node, offered, reply } from '../../test/bus-village.ts'
import type { Fault } from '../core/fault.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { Offer, ParamsMatchRules } from './capability.ts'
import { canServeSameParams, matchesParams, canServeParams, pickRequestableParams } from './route-request-matching.ts'
import { CapabilityEntry } from './capability-entry.ts'
import { hasRefusedParams, rememberRefusedParams } from './refused-params.ts'

describe('capability params', () => {
  it.each([
    ['equals', { ctx: 8 }, { ctx: 8 }, true],
    ['equals', { ctx: 8 }, { ctx: 9 }, false],
    ['equals', { ctx: { b: 1, a: [2] } }, { ctx: { a: [2], b: 1 } }, true],
    ['one-of', { ctx: ['a', 'b'] }, { ctx: 'b' }, true],
    ['one-of', { ctx: ['a', 'b'] }, { ctx: 'c' }, false],
    ['one-of', { ctx: 'a' }, { ctx: 'a' }, true],
    ['minimum', { ctx: 8_192 }, { ctx: 4_096 }, true],
    ['minimum', { ctx: 4_096 }, { ctx: 8_192 }, false],
    ['minimum', { ctx: '9000' }, { ctx: 10 }, false],
    ['subset', { ctx: ['de', 'en', 'fr'] }, { ctx: ['en', 'de'] }, true],
    ['subset', { ctx: ['de', 'en'] }, { ctx: ['en', 'it'] }, false],
    ['subset', { ctx: ['de'] }, { ctx: [] }, true],
  ] as const)('%s: params %j match the requested %j: %s', (test, has, wants, expected) => {
    expect(matchesParams({ ctx: test }, has, wants)).toBe(expected)
  })

  it('match requested keys that the matcher does not name', () => {
    expect(matchesParams({ model: 'equals' }, { model: 'a' }, { model: 'a', temperature: 1 })).toBe(true)
  })

  it('do not match a requested key that the instance lacks', () => {
    expect(matchesParams({ model: 'equals' }, {}, { model: 'a' })).toBe(false)
  })

  it('do not match names inherited from Object.prototype', () => {
    const wants = JSON.parse('{"constructor":"x","__proto__":"y"}') as JsonObject
    const matcher: ParamsMatchRules = Object.fromEntries([['constructor', 'equals' as const]])
    expect([matchesParams({}, {}, wants), matchesParams(matcher, {}, wants)]).toEqual([true, false])
  })

  it.each<[string, unknown]>([
    ['throws', (): never => JSON.parse('not JSON') as never],
    ['answers later', async () => true],
    ['answers something else', () => 'yes'],
  ])('do not match if the predicate %s, and the call is still answered', async (_, matches) => {
    const bus = node('a')
    const able = (params: JsonObject, facts: Partial<Offer>): void => {
      const instance = { name: 'llm.chat', params, ...facts }
      expect(bus.registerCapability(answering(instance, async () => reply(params))).ok).toBe(true)
    }
    able({ model: 'odd' }, { matches: matches as NonNullable<Offer['matches']> })
    const ask = (model: string) => bus.call('llm.chat', [1, 0], { params: { model } }, ME)
    expect(await ask('even')).toMatchObject({ ok: false, fault: { kind: 'not-found', details: { reason: 'params' } } })
    able({ model: 'even' }, { matches: { model: 'equals' }, timeoutSeconds: 7 })
    expect(await ask('even')).toMatchObject({ ok: true, value: { data: { model: 'even' } } })
  })

  it('without a provider are refused with the params that are available', async () => {
    const bus = node('a')
    const facts = { name: 'llm.chat', params: { model: 'small', secret: 1 }, matches: { model: 'equals' } } as const
    bus.registerCapability(answering(facts, async () => reply(null)))
    const outcome = await bus.call('llm.chat', [1, 0], { params: { model: 'big' } }, ME)
    const message = 'No provider of llm.chat serves the requested params; available: {"model":"small"}.'
    expect(outcome).toMatchObject({ ok: false, fault: { message, details: { reason: 'params' } } })
  })

  it('are all requestable if there is no matcher or if it is a function', () => {
    const params = { model: 'small', ctx: 8 }
    const requestable = (matches: Offer['matches']) =>
      pickRequestableParams(offered({ name: 'x', params, ...(matches === undefined ? {} : { matches }) }))
    expect([requestable(undefined), requestable(() => true), requestable({ ctx: 'minimum' })]).toEqual([
      params,
      params,
      { ctx: 8 },
    ])
  })

  it('always match the params of the instance itself', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4 }), (params) => {
        const matches = Object.fromEntries(Object.keys(params).map((key) => [key, 'equals' as const]))
        const offer = offered({ name: 'x', params: params as never, matches })
        expect(canServeParams(offer, { params: params as never })).toBe(true)
      }),
    )
  })

  it.each([
    ['equals', 8, 8, true],
    ['equals', 8, 9, false],
    ['one-of', ['a', 'b', 'c'], ['a', 'b'], true],
    ['one-of', ['a'], ['a', 'b'], false],
    ['minimum', 8_192, 4_096, true],
    ['minimum', 4_096, 8_192, false],
    ['subset', ['de', 'en'], ['en'], true],
    ['subset', ['en'], ['de', 'en'], false],
  ] as const)('%s: a provider with %j can replace one with %j: %s', (test, other, one, expected) => {
    const offer = (ctx: Json): Offer => offered({ name: 'x', params: { ctx }, matches: { ctx: test } })
    expect(canServeSameParams(offer(other), offer(one))).toBe(expected)
  })

  it('can be replaced by a provider that serves any value, but not the other way round', () => {
    const [any, some] = [offered({ name: 'x' }), offered({ name: 'x', params: { a: 1 }, matches: { a: 'equals' } })]
    expect([canServeSameParams(any, some), canServeSameParams(some, any), canServeSameParams(any, any)]).toEqual([
      true,
      false,
      true,
    ])
    const choosy = offered({ name: 'x', params: { a: 1, b: 2 }, matches: { a: 'equals', b: 'equals' } })
    expect([canServeSameParams(choosy, some), canServeSameParams(some, choosy)]).toEqual([false, true])
    const byFunction = offered({ name: 'x', params: { a: 2 }, matches: (has, wants) => has['a'] === wants['a'] })
    expect([canServeSameParams(byFunction, some), canServeSameParams(byFunction, byFunction)]).toEqual([false, true])
    // Which params a function tests is not known: what its instance offers is compared.
    expect([
      canServeSameParams(some, byFunction),
      canServeSameParams({ ...some, params: { a: 2 } }, byFunction),
    ]).toEqual([false, true])
  })

  it.each<[string, boolean, Fault, boolean]>([
    [
      'another node that does not serve them',
      false,
      { kind: 'not-found', message: '', details: { reason: 'params' } },
      true,
    ],
    [
      'another node that lacks something else',
      false,
      { kind: 'not-found', message: '', details: { reason: 'node' } },
      false,
    ],
    ['another node that says no more', false, { kind: 'not-found', message: '' }, false],
    ['another node that failed', false, { kind: 'failed', message: '', details: { reason: 'params' } }, false],
    ['this node', true, { kind: 'not-found', message: '', details: { reason: 'params' } }, false],
  ])('refused by %s are remembered only if it lacks them: %#', (_, isLocal, fault, expected) => {
    const identity = { nodeId: 'b', instanceId: 'default', isLocal, owner: 'b', lastSeenMs: 0 }
    const entry = new CapabilityEntry({ ...identity, offer: offered({ name: 'llm.chat' }) })
    const body = { params: { model: 'small' } }
    rememberRefusedParams(entry, fault, { body, nowMs: 1_000 })
    expect(hasRefusedParams(entry, body, 1_000)).toBe(expected)
  })

  // test_params_compatible_predicate_invoked
  it('params compatible predicate invoked', async () => {
    const bus = node('a')
    const seen: unknown[] = []
    const matches = (has: unknown, wants: unknown): boolean => {
      seen.push([has, wants])
      return false
    }
    bus.registerCapability(
      answering({ name: 'llm.chat', params: { model: 'm' }, matches }, () => Promise.resolve(reply(1))),
    )
    const outcome = await bus.call('llm.chat', [1, 0], { params: { model: 'other' } }, ME)
    expect(outcome).toMatchObject({ ok: false, fault: { kind: 'not-found', details: { reason: 'params' } } })
    expect(seen[0]).toEqual([{ model: 'm' }, { model: 'other' }])
  })
})
