/**
 * Audit: the contract's view of the ledger: one entry per call of this family, and per event of a prepared change or an
 * approval of one.
 *
 *   call.enter ⋈ call.exit | call.aborted ─▶ entry         ok → success, denied → blocked, plan → dry_run
 */
import { EFFECTS } from '../../bus/capability.ts'
import type { Effect } from '../../bus/capability.ts'
import { omitUndefined, isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import { isSpellingOfName } from '../../core/tool-name-spelling.ts'
import { toTextOrEmpty } from './json-text.ts'

/** The contract's words. `allowed` is said of what has begun and not ended, and of events that end nothing. */
export const HOMESEER_AUDIT_RESULTS = ['allowed', 'blocked', 'success', 'error', 'dry_run'] as const
type AuditResult = (typeof HOMESEER_AUDIT_RESULTS)[number]

/** Events that are a no, or a change that went wrong. */
const EVENT_RESULTS: Readonly<Record<string, AuditResult>> = {
  'approval.denied': 'blocked',
  'approval.expired': 'blocked',
  'change.failed': 'error',
  'change.unknown': 'error',
}

/** What decides who may read about a call. */
export interface AuditAccessFacts {
  readonly principal: string
  readonly effect: Effect | undefined
  readonly target: string | undefined
}

/** Whether the caller that asks may read about this call. */
export type AuditAccessPredicate = (record: AuditAccessFacts) => boolean

export interface HomeseerAuditFilter {
  readonly tool?: string
  readonly action?: string
  readonly result?: AuditResult
  /** ISO 8601. */
  readonly since?: string
  readonly traceId?: string
  /** A place in the ledger: only what is older. */
  readonly before?: number
  readonly limit: number
}

export interface HomeseerAuditPage {
  /** Newest first. */
  readonly entries: readonly JsonObject[]
  /** Where to go on; `undefined` when nothing older is left to look at. */
  readonly next: number | undefined
}

export interface HomeseerAuditTrail {
  readonly query: (filter: HomeseerAuditFilter, mayRead: AuditAccessPredicate) => Promise<HomeseerAuditPage>
}

/** One call or event as the ledger keeps it. */
export interface AuditedCall {
  readonly entry: JsonObject
  /** What ended the call. */
  readonly end: JsonObject | undefined
  /** What became known after it had ended. */
  readonly late?: JsonObject | undefined
  readonly args: Json | undefined
  readonly result: Json | undefined
}

export function readAuditAccessFacts(entry: JsonObject, end: JsonObject | undefined): AuditAccessFacts {
  const effect = toTextOrEmpty(end?.['effect'] ?? entry['effect'])
  const target = end?.['target'] ?? entry['target']
  return {
    principal: toTextOrEmpty(entry['principal']),
    effect: EFFECTS.find((known) => known === effect),
    target: typeof target === 'string' ? target : undefined,
  }
}

export function toHomeseerAuditEntryJson({ entry, end, late, args, result }: AuditedCall): JsonObject {
  const isCall = entry['kind'] === 'call.enter'
  const said = isJsonObject(result) ? result : {}
  // `planned` is how the admin envelope says it.
  const dryRun = said['dryRun'] === true || said['result'] === 'planned'
  const { before, after, diff } = said
  return {
    id: `ledger:${toTextOrEmpty(entry['seq'])}`,
    timestamp: entry['at'] ?? null,
    tool: entry['tool'] ?? null,
    action: isCall ? actionOf(toTextOrEmpty(entry['tool'])) : (entry['kind'] ?? null),
    result: isCall ? resultOf(end, dryRun) : (EVENT_RESULTS[toTextOrEmpty(entry['kind'])] ?? 'allowed'),
    dryRun,
    principal: entry['principal'] ?? null,
    // Who asked is one, who said yes or no another.
    ...omitUndefined({ decidedBy: entry['by'] }),
    ...(entry['trace_id'] === undefined ? {} : { auditRef: `trace:${toTextOrEmpty(entry['trace_id'])}` }),
    ...(end === undefined ? {} : { durationMs: durationMs(entry, end) }),
    ...(end?.['error_code'] === undefined ? {} : { errorCode: end['error_code'] }),
    ...(end?.['reasons'] === undefined ? {} : { reasons: end['reasons'] }),
    ...(late === undefined ? {} : { later: { timestamp: late['at'] ?? null, outcome: late['outcome'] ?? null } }),
    // As they were recorded: secrets were taken out before the ledger saw them.
    ...omitUndefined({ target: args, before, after, diff }),
  }
}

/** After the entry has been made: `action` and `result` are words of the contract, not of the ledger. */
export function passesAuditFilter(entry: JsonObject, filter: HomeseerAuditFilter): boolean {
  const { tool, action, result, since, traceId } = filter
  if (tool !== undefined && !isSpellingOfName(toTextOrEmpty(entry['tool']), tool)) return false
  if (action !== undefined && entry['action'] !== action) return false
  if (result !== undefined && entry['result'] !== result) return false
  if (traceId !== undefined && entry['auditRef'] !== `trace:${traceId}`) return false
  return since === undefined || Date.parse(toTextOrEmpty(entry['timestamp'])) >= Date.parse(since)
}

/** `hs4.devices.set` ▸ `devices.set`; a resource keeps its address. */
function actionOf(tool: string): string {
  return tool.startsWith('hs4.') ? tool.slice('hs4.'.length) : tool
}

function resultOf(end: JsonObject | undefined, dryRun: boolean): AuditResult {
  if (end === undefined) return 'allowed'
  if (end['kind'] === 'call.aborted') return 'error'
  if (end['outcome'] === 'denied') return 'blocked'
  if (end['outcome'] !== 'ok') return 'error'
  return dryRun ? 'dry_run' : 'success'
}

function durationMs(entry: JsonObject, end: JsonObject): number {
  return Math.max(0, Date.parse(toTextOrEmpty(end['at'])) - Date.parse(toTextOrEmpty(entry['at'])))
}
