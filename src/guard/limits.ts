/**
 * Limits: how much one caller may ask for, and how hard one actuator may be driven.
 *
 *   every call   ▸ calls of the caller              flood control, refused calls and dry runs count too
 *   every act    ▸ acts of the caller per effect
 *                ▸ rest and daily number of changes of the target and of all that it moves, whoever asks
 *
 * Kept in memory on monotonic time: setting the wall clock resets nothing. Neither does a restart: changes of a device
 * are also counted on the disk, and passed in here. The number of callers and actuators remembered is bounded; when all
 * of them are in use, a new one is refused rather than forgotten.
 */
import type { Effect } from '../bus/capability.ts'
import type { PolicyReason } from '../core/fault.ts'
import { createFullBucket, isBucketFull, computeMsUntilToken, takeToken } from '../toolbox/token-bucket.ts'
import type { TokenBucket, TokenRate } from '../toolbox/token-bucket.ts'
import { matchesPattern } from './name-pattern.ts'

export interface CallRateLimit {
  readonly perMinute: number
  /** How many calls may come at once after a quiet period. */
  readonly burst: number
}

export interface GuardLimitsConfig {
  /** Calls of one caller, of any kind and outcome. */
  readonly calls: CallRateLimit
  /** Acts of one caller per effect; an effect that is not named is bounded by `calls` alone. */
  readonly effects: Readonly<Partial<Record<Effect, CallRateLimit>>>
  readonly actuator: ActuatorLimit
  /** Devices that need more rest, e.g. registers in EEPROM; the first pattern that fits counts. */
  readonly actuators?: readonly (ActuatorLimit & { readonly target: string })[]
  readonly maxTracked: number
  /** How long a change waits for its actuator's rest before it is refused. */
  readonly maxRestWaitMs: number
}

interface ActuatorLimit {
  readonly minIntervalMs: number
  readonly writesPerDay: number
}

export type LimitVerdict =
  | { readonly ok: true }
  | { readonly ok: false; readonly reasons: readonly PolicyReason[]; readonly retryAfterMs: number }

export interface LimitedAct {
  /** `undefined` for our own services, which have no budget of their own. */
  readonly caller: string | undefined
  readonly effect: Effect
  readonly target: string | undefined
  /** The part that rests and wears out, if it is only a part of the target. */
  readonly actuator?: string | undefined
  /** Other actuators that move with it. */
  readonly touches?: readonly string[] | undefined
  /** What a person calls it, for the refusal. */
  readonly label?: string | undefined
}

export interface GuardLimiter {
  /** Counts an incoming call. */
  readonly arrive: (caller: string | undefined) => LimitVerdict
  /** Whether the act would be allowed now. Nothing is counted. */
  readonly peek: (act: LimitedAct) => LimitVerdict
  /** Counts an act that `peek` allowed in the same turn of the event loop. */
  readonly take: (act: LimitedAct) => void
}

/** The past changes of an actuator, on the monotonic clock. */
export interface ActuatorUsage {
  readonly lastMs: number
  readonly day: HourlyActCounts
}

interface Budget {
  readonly bucket: TokenBucket
  readonly rate: TokenRate
}

const MINUTE_MS = 60_000
/** How many of the least recently used entries are checked to make room for a new one. */
const EVICTION_SCAN = 64
/** The retry time when no limit says how long to wait. */
const DEFAULT_RETRY_MS = 1_000
/** The longest retry time, also for a limit of zero, which the owner may have changed by tomorrow. */
const MAX_RETRY_MS = 86_400_000
const OK: LimitVerdict = { ok: true }

export function createGuardLimiter(
  config: GuardLimitsConfig,
  monotonic: () => number,
  before: ReadonlyMap<string, ActuatorUsage> = new Map(),
): GuardLimiter {
  const budgets = new Map<string, Budget>()
  const actuators = new Map<string, ActuatorUsage>(before)

  function budgetVerdict(key: string, limit: CallRateLimit, rule: string): LimitVerdict {
    const now = monotonic()
    const rate = tokenRate(limit)
    const budget = budgets.get(key)
    if (
      budget === undefined &&
      !hasRoom(budgets, config.maxTracked, (held) => isBucketFull(held.bucket, held.rate, now))
    )
      return refuse(rule, 'Too many callers at once.', DEFAULT_RETRY_MS)
    const wait = computeMsUntilToken(budget?.bucket ?? createFullBucket(rate, now), rate, now)
    if (wait === 0) return OK
    return refuse(rule, `More than ${limit.perMinute} in a minute.`, wait)
  }

  function takeFrom(key: string, limit: CallRateLimit): void {
    const now = monotonic()
    const rate = tokenRate(limit)
    const before = budgets.get(key)?.bucket ?? createFullBucket(rate, now)
    touch(budgets, key, { bucket: takeToken(before, rate, now) ?? before, rate })
  }

  function actuatorVerdict(driven: string, names: readonly (string | undefined)[], label: string): LimitVerdict {
    const now = monotonic()
    const { minIntervalMs, writesPerDay } = limitOf(config, names)
    const actuator = actuators.get(driven)
    if (actuator === undefined) {
      if (writesPerDay < 1) return refuse('actuator-day', `${label}: the device may not be changed at all.`, Infinity)
      if (hasRoom(actuators, config.maxTracked, (held) => countActsOfLastDay(held.day, now) === 0)) return OK
      return refuse('actuator', 'Too many devices at once.', DEFAULT_RETRY_MS)
    }
    const rest = actuator.lastMs + minIntervalMs - now
    if (rest > 0) return refuse(REST_RULE, restWords(label, minIntervalMs, rest), rest)
    if (countActsOfLastDay(actuator.day, now) < writesPerDay) return OK
    const relief = computeDailyLimitReliefMs(actuator.day, now)
    return refuse('actuator-day', `${label}: the device allows ${writesPerDay} changes a day.`, relief)
  }

  return {
    arrive: (caller) => {
      if (caller === undefined) return OK
      const verdict = budgetVerdict(`calls ${caller}`, config.calls, 'rate-calls')
      if (verdict.ok) takeFrom(`calls ${caller}`, config.calls)
      return verdict
    },
    peek: (act) => {
      const { caller, effect } = act
      const rate = config.effects[effect]
      const key = caller === undefined || rate === undefined ? undefined : { name: `${effect} ${caller}`, rate }
      const budget = key === undefined ? OK : budgetVerdict(key.name, key.rate, `rate-${effect}`)
      const { own, others } = findDrivenActuators(act)
      const { target, label = own } = act
      const named = own === undefined ? OK : actuatorVerdict(own, [own, target], label ?? own)
      return others.reduce(
        (verdict, driven) =>
          bothVerdicts(
            verdict,
            actuatorVerdict(driven, [driven], `${driven}, set in motion by ${label ?? 'this call'}`),
          ),
        bothVerdicts(budget, named),
      )
    },
    take: (act) => {
      const { caller, effect } = act
      const rate = config.effects[effect]
      if (caller !== undefined && rate !== undefined) takeFrom(`${effect} ${caller}`, rate)
      const now = monotonic()
      for (const driven of listDrivenActuators(act))
        touch(actuators, driven, { lastMs: now, day: addActToHourlyCounts(actuators.get(driven)?.day ?? [], now) })
    },
  }
}

function bothVerdicts(left: LimitVerdict, right: LimitVerdict): LimitVerdict {
  if (left.ok) return right
  if (right.ok) return left
  return {
    ok: false,
    reasons: [...left.reasons, ...right.reasons],
    retryAfterMs: Math.max(left.retryAfterMs, right.retryAfterMs),
  }
}

/** The actuators that an act wears. Reads wear none, and our own records are not actuators. */
export function findDrivenActuators({ effect, target, actuator = target, touches = [] }: LimitedAct): DrivenActuators {
  if (effect === 'reads' || effect === 'records') return { own: undefined, others: [] }
  return { own: actuator, others: [...new Set(touches)].filter((driven) => driven !== actuator) }
}

export function listDrivenActuators(act: LimitedAct): readonly string[] {
  const { own, others } = findDrivenActuators(act)
  return own === undefined ? others : [own, ...others]
}

export interface DrivenActuators {
  /** The actuator that the call is about. */
  readonly own: string | undefined
  /** Other actuators that it moves. */
  readonly others: readonly string[]
}

/** Whether an actuator's rest is the only obstacle: it passes by itself, and soon. */
export function isOnlyActuatorRestReason(reasons: readonly PolicyReason[] = []): boolean {
  return reasons.length > 0 && reasons.every(({ rule }) => rule === REST_RULE)
}

const REST_RULE = 'actuator-rest'

/**
 * The limits of an actuator. The owner's patterns name the target; a pattern that names the actuator itself matches as
 * well.
 */
function limitOf(config: GuardLimitsConfig, names: readonly (string | undefined)[]): ActuatorLimit {
  const named = config.actuators?.find(({ target }) =>
    names.some((name) => name !== undefined && matchesPattern(target, name)),
  )
  return named ?? config.actuator
}

function refuse(rule: string, message: string, retryAfterMs: number): LimitVerdict {
  return { ok: false, reasons: [{ rule, message }], retryAfterMs: Math.min(MAX_RETRY_MS, Math.ceil(retryAfterMs)) }
}

function restWords(label: string, intervalMs: number, leftMs: number): string {
  return `${label}: the device rests ${intervalMs} ms between changes. Try again in ${Math.ceil(leftMs)} ms.`
}

function tokenRate({ perMinute, burst }: CallRateLimit): TokenRate {
  return { tokens: perMinute, perMs: MINUTE_MS, burst }
}

/** Maps keep the order in which entries were last touched, so the first ones are the least recently used. */
function touch<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key)
  map.set(key, value)
}

/** Makes room, if necessary, by dropping one entry whose loss changes no verdict. */
function hasRoom<Value>(map: Map<string, Value>, limit: number, isIdle: (value: Value) => boolean): boolean {
  if (map.size < limit) return true
  let scanned = 0
  for (const [key, value] of map) {
    if (isIdle(value)) {
      map.delete(key)
      return true
    }
    if (++scanned >= EVICTION_SCAN) return false
  }
  return false
}

// Day count: acts of the last 24 hours, counted per hour, so that it stays small however many there are. Times are
// monotonic milliseconds.

export const MS_PER_HOUR = 3_600_000
export const HOURS_PER_DAY = 24

/** Hour since the monotonic clock began → acts in it; never more than 25 entries. */
export type HourlyActCounts = readonly (readonly [hour: number, acts: number])[]

/** Counts the hour that is 24 hours ago as a whole: at most an hour too strict, never too lax. */
export function countActsOfLastDay(day: HourlyActCounts, nowMs: number): number {
  return recent(day, nowMs).reduce((sum, [, acts]) => sum + acts, 0)
}

export function addActToHourlyCounts(day: HourlyActCounts, nowMs: number): HourlyActCounts {
  const hour = Math.floor(nowMs / MS_PER_HOUR)
  const recentHours = recent(day, nowMs)
  const last = recentHours.at(-1)
  return last?.[0] === hour ? [...recentHours.slice(0, -1), [hour, last[1] + 1]] : [...recentHours, [hour, 1]]
}

/** Converts the times of acts into counts per hour. */
export function groupActsByHour(acts: readonly (readonly [atMs: number, acts: number])[]): HourlyActCounts {
  const hours = new Map<number, number>()
  for (const [atMs, number] of acts) {
    const hour = Math.floor(atMs / MS_PER_HOUR)
    hours.set(hour, (hours.get(hour) ?? 0) + number)
  }
  return [...hours].toSorted(([left], [right]) => left - right)
}

/** When the oldest counted hour stops counting. */
export function computeDailyLimitReliefMs(day: HourlyActCounts, nowMs: number): number {
  const oldest = recent(day, nowMs)[0]
  return oldest === undefined ? 0 : (oldest[0] + HOURS_PER_DAY + 1) * MS_PER_HOUR - nowMs
}

function recent(day: HourlyActCounts, nowMs: number): HourlyActCounts {
  const hour = Math.floor(nowMs / MS_PER_HOUR)
  return day.filter(([then]) => then >= hour - HOURS_PER_DAY)
}
