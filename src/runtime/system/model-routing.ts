/**
 * Model routing: chooses the language model for a prompt by the present state of its providers, and the next one when a
 * model fails.
 *
 *   score = ( success · 4 + speed · 3 + room · 2 + preference · 1 ) / 10        each part from 0 to 1
 *
 * Reads and calls through the bus.
 */
import { hash } from 'node:crypto'
import type { HandlerContext } from '../../bus/call-factory.ts'
import type { CapabilityEntry } from '../../bus/capability-entry.ts'
import type { Outcome } from '../../bus/call.ts'
import { canonicalJson } from '../../core/json.ts'
import type { Json } from '../../core/json.ts'
import { fail, ok } from '../../core/result.ts'
import { sanitizeLine } from '../../core/untrusted-text.ts'
import { createRuntimeFault } from '../faults.ts'

export const CHAT_CAPABILITY_NAME = 'llm.chat'

/** Weights in tenths. At `half_speed_ms` of expected waiting the speed counts half. */
const ROUTING_RULES = {
  version: 1,
  weights: { success: 4, speed: 3, room: 2, preference: 1 },
  half_speed_ms: 2_000,
  neutral_preference: 0.5,
  attempt_ms: 30_000,
} as const

/** Other rules have another hash, so that scores of different rules can be told apart. */
export const ROUTING_RULES_HASH: string = hash('sha256', canonicalJson(ROUTING_RULES))

export interface ModelProviderCandidate {
  readonly entry: CapabilityEntry
  /** Whether the router would choose it now. */
  readonly isViable: boolean
  /** The expected time of a call, including the calls that wait before it. */
  readonly costMs: number
}

/**
 * Scores from 0 to 1 by model. Of several providers of one model the best counts; a model without a viable provider has
 * 0.
 */
export function scoreModels(
  providers: readonly ModelProviderCandidate[],
  preference: Readonly<Record<string, number>> = {},
): ReadonlyMap<string, number> {
  const scores = new Map<string, number>()
  for (const provider of providers) {
    const { model } = provider.entry.offer.params
    if (typeof model !== 'string') continue
    scores.set(model, Math.max(scores.get(model) ?? 0, providerScore(provider, preference[model])))
  }
  return scores
}

function providerScore({ entry, isViable, costMs }: ModelProviderCandidate, preference: number | undefined): number {
  if (!isViable) return 0
  const { weights, half_speed_ms: halfMs, neutral_preference: neutral } = ROUTING_RULES
  const parts =
    weights.success * entry.health.successRate +
    weights.speed * (halfMs / (halfMs + Math.max(0, costMs))) +
    weights.room * Math.max(0, 1 - entry.inFlight / entry.offer.maxConcurrent) +
    weights.preference * (preference ?? neutral)
  return Math.min(1, parts / 10)
}

/** Best first, equal ones by name. Models without a viable provider are left out. */
export function rankModels(scores: ReadonlyMap<string, number>): readonly string[] {
  return [...scores]
    .filter(([, score]) => score > 0)
    .toSorted(([left, high], [right, low]) => low - high || (left < right ? -1 : 1))
    .map(([model]) => model)
}

const MAX_TOLD = 300

/** Asks one model after the other until one answers. Every attempt is a separate, recorded call. */
export async function promptModelsInOrder(
  context: HandlerContext,
  { prompt, ranked }: { readonly prompt: string; readonly ranked: readonly string[] },
): Promise<Outcome> {
  const attempts: { readonly model: string; readonly code: string; readonly message: string }[] = []
  for (const model of ranked) {
    if (context.signal.aborted) break
    const messages: Json = [{ role: 'user', content: prompt }]
    const body = { params: { model }, input: { messages } }
    const outcome = await context.call(CHAT_CAPABILITY_NAME, body, { timeoutMs: ROUTING_RULES.attempt_ms })
    if (outcome.ok) {
      const { data, ...rest } = outcome.value
      return ok({ ...rest, data: { capability: CHAT_CAPABILITY_NAME, model, data, attempts } })
    }
    const { kind, code = kind, message } = outcome.fault
    attempts.push({ model, code: sanitizeLine(code, MAX_TOLD), message: sanitizeLine(message, MAX_TOLD) })
  }
  const attempted = attempts.map(({ model, code }) => `${model} (${code})`).join(', ')
  const message =
    attempts.length === 0 ? 'No language model can be asked now.' : `No language model answered: ${attempted}.`
  return fail(createRuntimeFault('FallbackChainExhaustedError', message, { attempts }))
}
