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
/**
 * For everything but texts: audio, pings, and whatever else a transport has. A device that listens sends 17 frames of
 * audio a second, py-xiaozhi up to 50, and more at once after its network stood still; stock devices send no pings over
 * WebSocket, and one in minutes over MQTT.
 */
export const FRAME_BUDGET: BudgetSettings = { burst: 1_000, perSecond: 100 }

export function fullBudget(settings: BudgetSettings, atMs: number): Budget {
  return { left: settings.burst, atMs }
}

/** `undefined` when there is nothing left to spend. */
export function spend(budget: Budget, settings: BudgetSettings, atMs: number): Budget | undefined {
  const earned = (Math.max(0, atMs - budget.atMs) * settings.perSecond) / 1_000
  const left = Math.min(settings.burst, budget.left + earned)
  return left < 1 ? undefined : { left: left - 1, atMs }
}
