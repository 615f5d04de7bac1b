/**
 * Change staging: what the intent tools share. They resolve a name, prepare the change, and commit it if this was
 * requested and the name is unambiguous; they prepare and commit with the same calls as any caller.
 *
 * Pure: the bus does the work.
 */
import { z } from 'zod'
import type { HandlerContext } from '../../bus/call-factory.ts'
import { omitUndefined, isJsonObject, type JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import type { Fault } from '../../core/fault.ts'
import { isMissingOnlyConfirmationArguments } from '../../guard/guard-faults.ts'
import type { HomeseerToolContext } from './homeseer-tool-context.ts'
import { extendHs4Fault, type SuggestedToolCall } from './faults.ts'
import { BASE_GUARD_ARGUMENT_SCHEMAS, MAX_INTENT_OR_REASON_LENGTH } from './homeseer-change.ts'
import { truncateText } from './json-text.ts'
import { isDryRunCall, type ChangeJustificationArguments } from './change-policy.ts'

export const INTENT_GUARD_ARGUMENT_SCHEMAS = {
  execute: z.boolean().default(false).describe('true: commit at once, if the name left no doubt.'),
  ...BASE_GUARD_ARGUMENT_SCHEMAS,
}

/** `execute` says whether it was carried out, not whether that was requested. */
export interface StagedOrCommittedChange {
  readonly execute: boolean
  readonly prepared: JsonObject
  readonly committed?: JsonObject
}

export interface HomeseerChangeToStage {
  readonly toolName: string
  readonly args: JsonObject
  readonly claims: ChangeJustificationArguments & { readonly execute: boolean }
  /** The name in the request. */
  readonly query: string
  readonly summary: string
}

/**
 * Prepares the change in any case, so that the caller gets a token; commits only if everything for it was requested.
 */
export async function prepareAndMaybeCommitChange(
  homeseer: HomeseerToolContext,
  context: HandlerContext,
  wanted: HomeseerChangeToStage,
): Promise<Result<StagedOrCommittedChange, Fault>> {
  const { toolName, summary } = wanted
  const claims = withWords(wanted)
  const { confirm, intent, reason, dryRun } = claims
  const args = { ...wanted.args, ...omitUndefined({ confirm, intent, reason, dryRun }) }
  const prepared = await callTool(context, 'hs4.change.prepare', { toolName, args, summary: { text: summary } })
  if (!prepared.ok) return prepared
  const { token } = prepared.value
  if (!claims.execute || isDryRunCall(homeseer.rules, claims) || typeof token !== 'string')
    return ok({ execute: false, prepared: prepared.value })
  const committed = await callTool(context, 'hs4.change.commit', { token })
  if (!committed.ok) return fail(withDirectCall(committed.fault, wanted))
  return ok({ execute: committed.value['committed'] === true, prepared: prepared.value, committed: committed.value })
}

/** The claims with an intent and a reason, which are derived from the request unless the caller gives them. */
function withWords({ claims, summary, query }: HomeseerChangeToStage) {
  const { intent = summary, reason = `Asked for: ${query}` } = claims
  return {
    ...claims,
    intent: truncateText(intent, MAX_INTENT_OR_REASON_LENGTH),
    reason: truncateText(reason, MAX_INTENT_OR_REASON_LENGTH),
  }
}

/** The call as it can be made: with the caller's claims, or as a dry run if none of them confirms it. */
export function toRunnableCall(change: HomeseerChangeToStage): SuggestedToolCall {
  const { toolName: name, args } = change
  const { confirm, intent, reason } = withWords(change)
  return { name, args: { ...args, ...(confirm === true ? { confirm, intent, reason } : { dryRun: true }) } }
}

async function callTool(context: HandlerContext, name: string, body: JsonObject): Promise<Result<JsonObject, Fault>> {
  const outcome = await context.call(name, body, { isLocal: true })
  if (!outcome.ok) return outcome
  const { data } = outcome.value
  // Our own tools are called here, so an answer of another form is a bug.
  if (!isJsonObject(data)) throw new TypeError(`${name} answered no object`)
  return ok(data)
}

/**
 * A token keeps the claims it was prepared with, so committing it would be refused again; therefore the direct call is
 * suggested.
 */
function withDirectCall(fault: Fault, change: HomeseerChangeToStage): Fault {
  if (!isMissingOnlyConfirmationArguments(fault)) return fault
  const { toolName: name, args } = change
  const { intent, reason } = withWords(change)
  return extendHs4Fault(fault, { next: [{ name, args: { ...args, confirm: true, intent, reason } }] })
}
