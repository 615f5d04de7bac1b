/**
 * Staging: what the intents share. They resolve a name, prepare the change, and commit it if they were told to and the
 * name left no doubt; preparing and committing are the same calls that anybody can make.
 *
 * Pure: the bus does the work.
 */
import { z } from 'zod'
import type { HandlerContext } from '../../bus/call-options.ts'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import type { Fault } from '../../core/fault.ts'
import type { Homeseer } from './dependencies.ts'
import { NEXT, nextJson } from './faults.ts'
import { BASE_GUARD, CLAIM_RULES, MAX_WORDS } from './homeseer-change.ts'
import { cut } from './json-text.ts'
import { isDry, type Claims } from './rules.ts'

export const INTENT_GUARD = {
  execute: z.boolean().default(false).describe('true: commit at once, if the name left no doubt.'),
  ...BASE_GUARD,
}

/** `execute` is whether it was done, not whether it was asked for. */
export interface Staged {
  readonly execute: boolean
  readonly prepared: JsonObject
  readonly committed?: JsonObject
}

export interface Wanted {
  readonly toolName: string
  readonly args: JsonObject
  readonly claims: Claims & { readonly execute: boolean }
  /** The name as it was said. */
  readonly query: string
  readonly summary: string
}

/** Prepared in any case, so that a caller who only looked holds a token; committed only if all of it was asked for. */
export async function stage(
  homeseer: Homeseer,
  context: HandlerContext,
  wanted: Wanted,
): Promise<Result<Staged, Fault>> {
  const { toolName, summary } = wanted
  const claims = withWords(wanted)
  const args = { ...wanted.args, ...claimsJson(claims) }
  const prepared = await ask(context, 'hs4.change.prepare', { toolName, args, summary: { text: summary } })
  if (!prepared.ok) return prepared
  const { token } = prepared.value
  if (!claims.execute || isDry(homeseer.rules, claims) || typeof token !== 'string')
    return ok({ execute: false, prepared: prepared.value })
  const committed = await ask(context, 'hs4.change.commit', { token })
  if (!committed.ok) return fail(withDirectCall(committed.fault, wanted))
  return ok({ execute: committed.value['committed'] === true, prepared: prepared.value, committed: committed.value })
}

/** What is to be done and why follows from what was asked for, unless the caller says it in words of its own. */
function withWords({ claims, summary, query }: Pick<Wanted, 'claims' | 'summary' | 'query'>): Wanted['claims'] {
  const { intent = summary, reason = `Asked for: ${query}` } = claims
  return { ...claims, intent: cut(intent, MAX_WORDS), reason: cut(reason, MAX_WORDS) }
}

/** The call as it can be made: with the claims that the caller made; as a plan where none of them confirms it. */
export function runnableArgs(args: JsonObject, wanted: Pick<Wanted, 'claims' | 'summary' | 'query'>): JsonObject {
  const { confirm, intent, reason } = withWords(wanted)
  const words = { ...(intent === undefined ? {} : { intent }), ...(reason === undefined ? {} : { reason }) }
  return confirm === true ? { ...args, confirm, ...words } : { ...args, dryRun: true }
}

async function ask(context: HandlerContext, name: string, body: JsonObject): Promise<Result<JsonObject, Fault>> {
  const outcome = await context.call(name, body, { isLocal: true })
  if (!outcome.ok) return outcome
  const { data } = outcome.value
  // Our own tools: an answer of another form is our bug.
  if (!isJsonObject(data)) throw new TypeError(`${name} answered no object`)
  return ok(data)
}

/** A token keeps the claims it was prepared with, so committing it again is refused again: the call itself is named. */
function withDirectCall(fault: Fault, { toolName, args, claims, summary, query }: Wanted): Fault {
  const { reasons = [] } = fault
  if (fault.kind !== 'not-permitted' || !reasons.every(({ rule }) => CLAIM_RULES.has(rule))) return fault
  const { intent = summary, reason = query } = withWords({ claims, summary, query })
  const claimed = { confirm: true, intent, reason }
  return {
    ...fault,
    details: { [NEXT]: [nextJson({ name: toolName, args: { ...args, ...claimed } })], ...fault.details },
  }
}

function claimsJson({ confirm, intent, reason, dryRun }: Claims): JsonObject {
  return {
    ...(confirm === undefined ? {} : { confirm }),
    ...(intent === undefined ? {} : { intent }),
    ...(reason === undefined ? {} : { reason }),
    ...(dryRun === undefined ? {} : { dryRun }),
  }
}
