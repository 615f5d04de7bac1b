/**
 * HomeSeer audit: the contract's view of the ledger: one entry per call of this family, and per event of a prepared
 * change or an approval of one.
 *
 *   call.enter ⋈ call.exit | call.aborted ─▶ entry         ok → success, denied → blocked, plan → dry_run
 */
import { EFFECTS } from '../../bus/capability.ts'
import type { Effect } from '../../bus/capability.ts'
import { omitUndefined, isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import { isSpellingOfName } from '../../core/tool-name-spelling.ts'
import { toTextOrEmpty } from './json-text.ts'

/** The contract's results. `allowed` means a call that has begun and not ended, and events that end nothing. */
export const HOMESEER_AUDIT_RESULTS = ['allowed', 'blocked', 'success', 'error', 'dry_run'] as const
type AuditResult = (typeof HOMESEER_AUDIT_RESULTS)[number]

/** Events that are a refusal, or a failed change. */
const EVENT_RESULTS: Readonly<Record<string, AuditResult>> = {
  'approval.denied': 'blocked',
  'approval.expired': 'blocked',
  'change.failed': 'error',
  'change.unknown': 'error',
}

/** The facts that decide who may read about a call. */
export interface AuditReadAccessFacts {
  readonly principal: string
  readonly effect: Effect | undefined
  readonly target: string | undefined
}

/** Whether the requesting caller may read about this call. */
export type AuditAccessPredicate = (record: AuditReadAccessFacts) => boolean

export interface HomeseerAuditFilter {
  readonly tool?: string
  readonly action?: string
  readonly result?: AuditResult
  /** ISO 8601. */
  readonly since?: string
  readonly traceId?: string
  /** A position in the ledger: only older entries. */
  readonly before?: number
  readonly limit: number
}

export interface HomeseerAuditEntryPage {
  /** Newest first. */
  readonly entries: readonly JsonObject[]
  /** Where to continue; `undefined` when no older entries are left. */
  readonly next: number | undefined
}

export interface HomeseerAuditReader {
  readonly query: (filter: HomeseerAuditFilter, mayRead: AuditAccessPredicate) => Promise<HomeseerAuditEntryPage>
}

/** One call or event as the ledger keeps it. */
export interface AuditedCallRecord {
  readonly entry: JsonObject
  /** The entry that ended the call. */
  readonly end: JsonObject | undefined
  /** The entry about what became known after the call had ended. */
  readonly late?: JsonObject | undefined
  readonly args: Json | undefined
  readonly result: Json | undefined
}

export function readEntryAccessFacts(entry: JsonObject, end: JsonObject | undefined): AuditReadAccessFacts {
  const effect = toTextOrEmpty(end?.['effect'] ?? entry['effect'])
  const target = end?.['target'] ?? entry['target']
  return {
    principal: toTextOrEmpty(entry['principal']),
    effect: EFFECTS.find((known) => known === effect),
    target: typeof target === 'string' ? target : undefined,
  }
}

export function toHomeseerAuditEntryJson({ entry, end, late, args, result }: AuditedCallRecord): JsonObject {
  const isCall = entry['kind'] === 'call.enter'
  const envelope = isJsonObject(result) ? result : {}
  // The admin envelope says `planned` for a dry run.
  const dryRun = envelope['dryRun'] === true || envelope['result'] === 'planned'
  const { before, after, diff } = envelope
  return {
    id: `ledger:${toTextOrEmpty(entry['seq'])}`,
    timestamp: entry['at'] ?? null,
    tool: entry['tool'] ?? null,
    action: isCall ? actionOf(toTextOrEmpty(entry['tool'])) : (entry['kind'] ?? null),
    result: isCall ? resultOf(end, dryRun) : (EVENT_RESULTS[toTextOrEmpty(entry['kind'])] ?? 'allowed'),
    dryRun,
    principal: entry['principal'] ?? null,
    // The caller that requested a change and the one that decided about it are different members.
    ...omitUndefined({ decidedBy: entry['by'] }),
    ...(entry['trace_id'] === undefined ? {} : { auditRef: `trace:${toTextOrEmpty(entry['trace_id'])}` }),
    ...(end === undefined ? {} : { durationMs: durationMs(entry, end) }),
    ...(end?.['error_code'] === undefined ? {} : { errorCode: end['error_code'] }),
    ...(end?.['reasons'] === undefined ? {} : { reasons: end['reasons'] }),
    ...(late === undefined ? {} : { later: { timestamp: late['at'] ?? null, outcome: late['outcome'] ?? null } }),
    // As recorded: secrets were removed before.
    ...omitUndefined({ target: args, before, after, diff }),
  }
}

/** Applied to the finished entry, because `action` and `result` are the contract's terms. */
export function passesAuditFilter(entry: JsonObject, filter: HomeseerAuditFilter): boolean {
  const { tool, action, result, since, traceId } = filter
  if (tool !== undefined && !isSpellingOfName(toTextOrEmpty(entry['tool']), tool)) return false
  if (action !== undefined && entry['action'] !== action) return false
  if (result !== undefined && entry['result'] !== result) return false
  if (traceId !== undefined && entry['auditRef'] !== `trace:${traceId}`) return false
  return since === undefined || Date.parse(toTextOrEmpty(entry['timestamp'])) >= Date.parse(since)
}

/** `hs4.devices.set` ▸ `devices.set`; a resource keeps its URI. */
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
