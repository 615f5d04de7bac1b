import { describe, expect, it } from 'vitest'
import type { Budget } from './budget.ts'
import { fullBudget, spend } from './budget.ts'

const SETTINGS = { burst: 3, perSecond: 10 }

describe('budget', () => {
  it('allows a burst, then as much as comes in', () => {
    let budget: Budget | undefined = fullBudget(SETTINGS, 0)
    for (let each = 0; each < 3; each++) budget = budget && spend(budget, SETTINGS, 0)
    expect(budget).toEqual({ left: 0, atMs: 0 })
    expect(spend({ left: 0, atMs: 0 }, SETTINGS, 99)).toBeUndefined()
    expect(spend({ left: 0, atMs: 0 }, SETTINGS, 100)).toEqual({ left: 0, atMs: 100 })
  })

  it('saves no more than a burst, and earns nothing when time goes back', () => {
    expect(spend({ left: 0, atMs: 0 }, SETTINGS, 60_000)).toEqual({ left: 2, atMs: 60_000 })
    expect(spend({ left: 0.5, atMs: 1_000 }, SETTINGS, 0)).toBeUndefined()
  })
})
