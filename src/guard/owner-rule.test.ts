import { describe, expect, it } from 'vitest'
import { explainOwnerRuleFlaw, findOwnerDecision } from './policy.ts'
import type { OwnerRule } from './policy.ts'

describe('owner rule', () => {
  it('lets the strictest word win, in whatever order the rules stand', () => {
    const rules: OwnerRule[] = [
      { tool: 'a.*', says: 'trust' },
      { target: 'lock:1', says: 'forbid' },
      { tool: 'a.b', says: 'ask' },
    ]
    const call = { tool: 'a.b', target: 'lock:1' }
    expect(findOwnerDecision(rules, call)).toBe('forbid')
    expect(findOwnerDecision(rules.toReversed(), call)).toBe('forbid')
    expect(findOwnerDecision(rules, { tool: 'a.b', target: 'lock:2' })).toBe('ask')
    expect(findOwnerDecision(rules, { tool: 'a.c', target: undefined })).toBe('trust')
    expect(findOwnerDecision(rules, { tool: 'b', target: undefined })).toBeUndefined()
  })

  it('needs both tool and target to fit where both are named', () => {
    const rules: OwnerRule[] = [{ tool: 'a', target: 'lock:1', says: 'trust' }]
    expect(findOwnerDecision(rules, { tool: 'a', target: 'lock:2' })).toBeUndefined()
    expect(findOwnerDecision(rules, { tool: 'a', target: undefined })).toBeUndefined()
    expect(findOwnerDecision(rules, { tool: 'a', target: 'lock:1' })).toBe('trust')
  })

  it('holds for devices that a call reaches beside its target; trust in them does not', () => {
    const rules: OwnerRule[] = [
      { target: 'lamp:1', says: 'trust' },
      { target: 'lamp:2', says: 'ask' },
      { target: 'lock:1', says: 'forbid' },
    ]
    const running = (...touches: string[]) => findOwnerDecision(rules, { tool: 'run', target: 'event:7', touches })
    expect(running('lamp:3')).toBeUndefined()
    expect(running('lamp:1')).toBeUndefined()
    expect(running('lamp:1', 'lamp:2')).toBe('ask')
    expect(running('lamp:2', 'lock:1')).toBe('forbid')
    const trusted: OwnerRule[] = [...rules, { target: 'event:7', says: 'trust' }]
    expect(findOwnerDecision(trusted, { tool: 'run', target: 'event:7', touches: ['lamp:3'] })).toBe('trust')
    expect(findOwnerDecision(trusted, { tool: 'run', target: 'event:7', touches: ['lamp:2'] })).toBe('ask')
  })

  it('counts a word that it does not know as a no', () => {
    expect(findOwnerDecision([{ tool: 'a', says: 'allow' as 'trust' }], { tool: 'a', target: undefined })).toBe(
      'forbid',
    )
  })

  it('finds fault with rules that say nothing or give everything away', () => {
    expect(explainOwnerRuleFlaw({ says: 'ask' })).toMatch(/names a tool or a target/)
    expect(explainOwnerRuleFlaw({ tool: '*', says: 'trust' })).toMatch(/trusts everything/)
    expect(explainOwnerRuleFlaw({ tool: '*', target: '*', says: 'trust' })).toMatch(/trusts everything/)
    expect(explainOwnerRuleFlaw({ tool: 'a', says: 'allow' as 'trust' })).toMatch(/means nothing/)
    expect(explainOwnerRuleFlaw({ tool: '*', says: 'forbid' })).toBeUndefined()
    expect(explainOwnerRuleFlaw({ tool: '*', target: 'lock:1', says: 'trust' })).toBeUndefined()
  })
})
