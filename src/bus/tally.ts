/**
 * Tally: what is counted about every call, in plain numbers. Metrics and `stats` are made of it when somebody asks.
 *
 * Pure.
 */
import type { JsonObject } from '../core/json.ts'
import type { Outcome } from './call.ts'
import { codeOf } from './code.ts'
import type { ErrorCode } from './code.ts'

/** Upper bounds in milliseconds (X03), finer at the lower end: a local call takes microseconds. */
export const DURATION_BUCKETS_MS: readonly number[] = [0.1, 0.5, 1, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000]

export class CapabilityTally {
  ok = 0
  readonly errors = new Map<ErrorCode, number>()
  /** Not cumulative; the last one is for everything beyond the bounds. */
  readonly durations = new Float64Array(DURATION_BUCKETS_MS.length + 1)
  durationSumMs = 0
  activeStreams = 0

  get calls(): number {
    let errors = 0
    for (const count of this.errors.values()) errors += count
    return this.ok + errors
  }

  count(outcome: Outcome, ms: number): void {
    if (outcome.ok) {
      this.ok++
    } else {
      const code = codeOf(outcome.fault)
      this.errors.set(code, (this.errors.get(code) ?? 0) + 1)
    }
    let bucket = 0
    while (ms > (DURATION_BUCKETS_MS[bucket] ?? Infinity)) bucket++
    this.durations[bucket] = (this.durations[bucket] ?? 0) + 1
    this.durationSumMs += ms
  }
}

/** Names that nobody offers are counted together, or a stranger could fill the memory with inventions. */
export const UNKNOWN_CAPABILITY = 'unknown'

/** Beyond these they are not told apart. */
const MAX_CAPABILITIES = 5_000
const MAX_MODELS = 1_000
const MAX_RULES = 200

interface Tokens {
  readonly model: string
  readonly backend: string
  tokens: number
}

export class Tally {
  readonly byCapability = new Map<string, CapabilityTally>()
  readonly tokens = new Map<string, Tokens>()
  /** How often each rule refused a call. */
  readonly refusals = new Map<string, number>()
  quarantines = 0
  retries = 0
  hedges = 0
  /** Providers that were cut off because they ignored their signal. */
  cutOff = 0

  /** The provider's params say which model it is. */
  countTokens(params: JsonObject, tokens: number): void {
    const model = typeof params['model'] === 'string' ? params['model'] : ''
    const backend = typeof params['backend'] === 'string' ? params['backend'] : ''
    const key = `${model}\n${backend}`
    const known = this.tokens.get(key)
    if (known !== undefined) known.tokens += tokens
    else if (this.tokens.size < MAX_MODELS) this.tokens.set(key, { model, backend, tokens })
  }

  /** Rules are few and our own; a peer's words for them are bounded all the same. */
  countRefusal(outcome: Outcome): void {
    if (outcome.ok) return
    for (const { rule } of outcome.fault.reasons ?? []) {
      const key = this.refusals.has(rule) || this.refusals.size < MAX_RULES ? rule : 'other'
      this.refusals.set(key, (this.refusals.get(key) ?? 0) + 1)
    }
  }

  of(name: string): CapabilityTally {
    const known = this.byCapability.get(name)
    if (known !== undefined) return known
    // Devices come and go for years, and each may bring names of its own.
    if (this.byCapability.size >= MAX_CAPABILITIES && name !== UNKNOWN_CAPABILITY) return this.of(UNKNOWN_CAPABILITY)
    const tally = new CapabilityTally()
    this.byCapability.set(name, tally)
    return tally
  }
}
