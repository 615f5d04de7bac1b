import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { answering, ME, node, offered, reply } from '../../test/bus-village.ts'
import type { JsonObject } from '../core/json.ts'
import type { ParamsMatcher } from './capability.ts'
import { matchesParams, servesParams } from './params.ts'

describe('params', () => {
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
  ] as const)('%s of %j against %j is %s', (test, has, wants, expected) => {
    expect(matchesParams({ ctx: test }, has, wants)).toBe(expected)
  })

  it('does not mind keys that the matcher does not name', () => {
    expect(matchesParams({ model: 'equals' }, { model: 'a' }, { model: 'a', temperature: 1 })).toBe(true)
  })

  it('does not promise what the instance does not speak of', () => {
    expect(matchesParams({ model: 'equals' }, {}, { model: 'a' })).toBe(false)
  })

  it('is not fooled by names that every object has', () => {
    const wants = JSON.parse('{"constructor":"x","__proto__":"y"}') as JsonObject
    const matcher: ParamsMatcher = Object.fromEntries([['constructor', 'equals' as const]])
    expect([matchesParams({}, {}, wants), matchesParams(matcher, {}, wants)]).toEqual([true, false])
  })

  it('always serves an instance its own params', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4 }), (params) => {
        const matches = Object.fromEntries(Object.keys(params).map((key) => [key, 'equals' as const]))
        const offer = offered({ name: 'x', params: params as never, matches })
        expect(servesParams(offer, { params: params as never })).toBe(true)
      }),
    )
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
