import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../core/json.ts'
import { explainOwnerRuleFlaw, findOwnerRuleDecision, findOwnerRuleQuorum } from './policy.ts'
import type { OwnerRule } from './policy.ts'

describe('owner rule', () => {
  it('with the strictest verdict wins, whatever the order of the rules', () => {
    const rules: OwnerRule[] = [
      { tool: 'a.*', says: 'trust' },
      { target: 'lock:1', says: 'forbid' },
      { tool: 'a.b', says: 'ask' },
    ]
    const call = { tool: 'a.b', target: 'lock:1' }
    expect(findOwnerRuleDecision(rules, call)).toBe('forbid')
    expect(findOwnerRuleDecision(rules.toReversed(), call)).toBe('forbid')
    expect(findOwnerRuleDecision(rules, { tool: 'a.b', target: 'lock:2' })).toBe('ask')
    expect(findOwnerRuleDecision(rules, { tool: 'a.c', target: undefined })).toBe('trust')
    expect(findOwnerRuleDecision(rules, { tool: 'b', target: undefined })).toBeUndefined()
  })

  it('without tool and target matches no call', () => {
    expect(findOwnerRuleDecision([{ says: 'trust' }], { tool: 'a', target: 'lock:1' })).toBeUndefined()
  })

  it('about an argument matches it inside lists, and matches no other argument', () => {
    const rules: OwnerRule[] = [{ tool: 'a', arguments: { scene: 'party' }, says: 'forbid' }]
    const said = (body: JsonObject) => findOwnerRuleDecision(rules, { tool: 'a', target: undefined, body })
    expect(said({ steps: [{ wait: 1 }, { scene: ['calm', ' Party'] }] })).toBe('forbid')
    expect(said({ steps: [{ wait: 'party' }, { scene: ['calm'] }] })).toBeUndefined()
  })

  it('with both tool and target applies only if both match', () => {
    const rules: OwnerRule[] = [{ tool: 'a', target: 'lock:1', says: 'trust' }]
    expect(findOwnerRuleDecision(rules, { tool: 'a', target: 'lock:2' })).toBeUndefined()
    expect(findOwnerRuleDecision(rules, { tool: 'a', target: undefined })).toBeUndefined()
    expect(findOwnerRuleDecision(rules, { tool: 'a', target: 'lock:1' })).toBe('trust')
  })

  it('applies to devices that a call triggers, except for the verdict trust', () => {
    const rules: OwnerRule[] = [
      { target: 'lamp:1', says: 'trust' },
      { target: 'lamp:2', says: 'ask' },
      { target: 'lock:1', says: 'forbid' },
    ]
    const running = (...touches: string[]) => findOwnerRuleDecision(rules, { tool: 'run', target: 'event:7', touches })
    expect(running('lamp:3')).toBeUndefined()
    expect(running('lamp:1')).toBeUndefined()
    expect(running('lamp:1', 'lamp:2')).toBe('ask')
    expect(running('lamp:2', 'lock:1')).toBe('forbid')
    const trusted: OwnerRule[] = [...rules, { target: 'event:7', says: 'trust' }]
    expect(findOwnerRuleDecision(trusted, { tool: 'run', target: 'event:7', touches: ['lamp:3'] })).toBe('trust')
    expect(findOwnerRuleDecision(trusted, { tool: 'run', target: 'event:7', touches: ['lamp:2'] })).toBe('ask')
  })

  it('about an argument matches its name at any depth, and no other name', () => {
    const rules: OwnerRule[] = [{ tool: 'a', arguments: { mode: 'off' }, says: 'forbid' }]
    const decided = (body: JsonObject) => findOwnerRuleDecision(rules, { tool: 'a', target: undefined, body })
    expect(decided({ mode: 'off' })).toBe('forbid')
    expect(decided({ list: [{ deep: { mode: 'off' } }] })).toBe('forbid')
    expect(decided({ mode: ['on', 'off'] })).toBe('forbid')
    expect(decided({ other: 'off' })).toBeUndefined()
    expect(decided({ other: { mode: 'on', label: 'off' } })).toBeUndefined()
    expect(decided({})).toBeUndefined()
  })

  // docs/running.md: with `quorum`, `veto` means that one no is a no. A second rule takes nothing of that away.
  it('for a quorum has a veto if any of several matching rules has one', () => {
    const quorum = (target: string, voters: readonly string[], veto?: boolean): OwnerRule => ({
      target,
      says: 'quorum',
      voters,
      ...(veto === undefined ? {} : { veto }),
    })
    const call = { tool: 'a', target: 'lock:1', touches: ['siren:1'] }
    const asked = (first?: boolean, second?: boolean) =>
      findOwnerRuleQuorum([quorum('lock:1', ['anna', 'ben'], first), quorum('siren:1', ['ben', 'cara'], second)], call)
    expect(asked(true)).toEqual({ need: 3, voters: ['anna', 'ben', 'cara'], veto: true })
    expect(asked(undefined, true)?.veto).toBe(true)
    expect(asked(false, true)?.veto).toBe(true)
    expect(asked(false, false)?.veto).toBe(false)
    expect(asked()?.veto).toBe(false)
  })

  it('with an unknown verdict counts as forbid', () => {
    expect(findOwnerRuleDecision([{ tool: 'a', says: 'allow' as 'trust' }], { tool: 'a', target: undefined })).toBe(
      'forbid',
    )
  })

  it('is reported as flawed when it names nothing, trusts everything or has an impossible quorum', () => {
    const quorum = { tool: 'a', says: 'quorum', voters: ['anna', 'ben'] } as const
    expect(explainOwnerRuleFlaw({ ...quorum, need: 1 })).toBeUndefined()
    expect(explainOwnerRuleFlaw({ ...quorum, need: 2 })).toBeUndefined()
    for (const need of [0, 3]) expect(explainOwnerRuleFlaw({ ...quorum, need })).toMatch(/1 to 2/)
    expect(explainOwnerRuleFlaw({ says: 'ask' })).toMatch(/names a tool or a target/)
    expect(explainOwnerRuleFlaw({ tool: '*', says: 'trust' })).toMatch(/trusts everything/)
    expect(explainOwnerRuleFlaw({ tool: '*', target: '*', says: 'trust' })).toMatch(/trusts everything/)
    expect(explainOwnerRuleFlaw({ tool: 'a', says: 'allow' as 'trust' })).toMatch(/not a known word/)
    expect(explainOwnerRuleFlaw({ tool: '*', says: 'forbid' })).toBeUndefined()
    expect(explainOwnerRuleFlaw({ tool: '*', target: 'lock:1', says: 'trust' })).toBeUndefined()
  })
})
