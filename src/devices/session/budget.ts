/**
 * Budget: how many messages a device may send. A bucket that fills steadily and is emptied by use.
 *
 * Pure: time is an argument.
 */
export interface Budget {
  readonly left: number
  readonly atMs: number
}

export interface BudgetSettings {
  readonly burst: number
  readonly perSecond: number
}

/** Generous for a device that reports its state, and nothing for one that has gone mad. */
export const TEXT_BUDGET: BudgetSettings = { burst: 400, perSecond: 100 }

export function fullBudget(settings: BudgetSettings, atMs: number): Budget {
  return { left: settings.burst, atMs }
}

/** `undefined` when there is nothing left to spend. */
export function spend(budget: Budget, settings: BudgetSettings, atMs: number): Budget | undefined {
  const earned = (Math.max(0, atMs - budget.atMs) * settings.perSecond) / 1_000
  const left = Math.min(settings.burst, budget.left + earned)
  return left < 1 ? undefined : { left: left - 1, atMs }
}
