/**
 * Ledger change view: one change in the ledger, described for a person.
 *
 *   call.enter ⋈ call.exit | call.aborted ⋈ call.outcome ─▶ caller, tool, target, result, later outcome
 *   token.created, stop.engaged … ─▶ done
 *
 * Pure, given its sources.
 */
import { z } from 'zod'
import { toAccountKeyFromCallerKey, parsePeerCallerKey } from '../../bus/caller.ts'
import type { Offer } from '../../bus/capability.ts'
import { isFaultBeforeAttempt } from '../../core/fault.ts'
import type { FaultKind } from '../../core/fault.ts'
import { isJsonObject } from '../../core/json.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import type { LedgerEntry } from '../../ledger/entry.ts'

export const CHANGE_RESULTS = [
  'done',
  'repeated',
  'planned',
  'asked',
  'refused',
  'failed',
  'unknown',
  'running',
] as const
type ChangeResult = (typeof CHANGE_RESULTS)[number]

/** The family name for what people do to the node itself. */
export const NODE_FAMILY_NAME = 'node'

export const changeOutputSchema = z.object({
  log_index: z.int().describe('Where the ledger has it; ledger_proof proves it.'),
  end_log_index: z.int().exactOptional().describe('The same for how it ended.'),
  at: z.string(),
  caller: z.string().describe('Who asked: a token’s name, `service:…` or `peer:<node>[/<for whom>]`.'),
  node: z.string().exactOptional().describe('What people call the node that asked.'),
  actor: z.string().exactOptional().describe('For whom that node says it asked: its word.'),
  client: z.string().exactOptional().describe('What the program calls itself; nobody proves it.'),
  channel: z.string().exactOptional(),
  capability: z.string(),
  title: z.string(),
  family: z.string().nullable().describe('`null` where nothing of that kind is here any more.'),
  effect: z.string(),
  target: z.string().exactOptional(),
  label: z.string().exactOptional().describe('What people call the target.'),
  touches: z.array(z.string()).exactOptional().describe('What else it moves, or would have moved, such as by events.'),
  may_touch: z
    .array(z.string())
    .exactOptional()
    .describe('What it might move, or wires up; the first few where that is much, see `may_touch_count`.'),
  may_touch_count: z.int().exactOptional(),
  arguments: z.unknown().exactOptional().describe('As recorded, without secrets.'),
  result: z
    .enum(CHANGE_RESULTS)
    .describe(
      'done; repeated: an earlier answer was given again, and nothing done; planned: a dry run; asked: a person had to be asked, see `approval`; refused: nothing was tried; failed: it was tried and did not work; unknown: it may have happened; running.',
    ),
  code: z.string().exactOptional(),
  rules: z.array(z.string()).exactOptional().describe('Which rules refused it.'),
  reasons: z.array(z.string()).exactOptional(),
  approval: z
    .object({ id: z.string(), state: z.string().exactOptional(), by: z.string().exactOptional() })
    .exactOptional()
    .describe('The question to a person as it stands now: requested, approved, denied, expired or used, and by whom.'),
  grant: z
    .object({ id: z.string(), by: z.string().exactOptional() })
    .exactOptional()
    .describe('The grant that covered it.'),
  before: z.unknown().exactOptional(),
  after: z.unknown().exactOptional(),
  diff: z.unknown().exactOptional(),
  verification: z.unknown().exactOptional().describe('What was looked at afterwards.'),
  answer: z.unknown().exactOptional().describe('What the tool answered, where it says none of these and is short.'),
  later: z
    .object({
      log_index: z.int(),
      at: z.string(),
      outcome: z.string().describe('`reached`: the wanted state came about after all; `not-reached`: it did not.'),
      source: z.string().exactOptional().describe('How that became known: `push`, `read` or `timeout`.'),
      message: z.string().exactOptional(),
      observed: z.unknown().exactOptional(),
    })
    .exactOptional()
    .describe('What became known after the call was answered; `result` says how it stands with this.'),
  trace_id: z.string().exactOptional(),
  task_id: z.string().exactOptional().describe('For which task its caller said that it was.'),
  session_id: z.string().exactOptional().describe('The same for an audit session.'),
})
export type LedgerChangeView = z.output<typeof changeOutputSchema>

/** Facts that are not in the ledger. */
export interface LedgerChangeViewContext {
  readonly offer: (name: string) => Pick<Offer, 'title' | 'family'> | undefined
  /** The family of a tool; `undefined` if no provider offers that name now. */
  readonly familyOf: (name: string) => string | undefined
  readonly nodeName: (id: string) => string | undefined
  readonly approval: (id: string) => { readonly state: string; readonly decidedBy: string | undefined } | undefined
  readonly grantedBy: (id: string) => string | undefined
  /** The content of an entry's body that the reader may see; empty where it was erased. */
  readonly words: (seq: number) => JsonObject
}

/**
 * Returns `undefined` for a call that changed nothing: it only read, or made nested calls that have entries of their
 * own.
 */
export function toLedgerChangeView(
  entry: LedgerEntry,
  ends: CallOutcomeEntries,
  around: LedgerChangeViewContext,
): LedgerChangeView | undefined {
  return entry.kind === 'call.enter' ? callChange(entry, ends, around) : deed(entry, around)
}

/** The entry that ended a call, and the entry about what became known afterwards. */
export interface CallOutcomeEntries {
  readonly end?: LedgerEntry
  readonly late?: LedgerEntry
}

function callChange(
  entry: LedgerEntry,
  { end, late }: CallOutcomeEntries,
  around: LedgerChangeViewContext,
): LedgerChangeView | undefined {
  const effect = textOf(end?.['effect']) ?? textOf(entry['effect']) ?? ''
  if (effect === 'reads' || effect === 'records') return undefined
  const capability = textOf(entry['tool']) ?? ''
  const offer = around.offer(capability)
  const { args } = around.words(entry.seq)
  return {
    log_index: entry.seq,
    ...(end === undefined ? {} : { end_log_index: end.seq }),
    at: entry.at,
    ...whoOf(entry, textOf(entry['principal']) ?? '', around),
    capability,
    title: offer?.title ?? capability,
    family: offer?.family.name ?? around.familyOf(capability) ?? null,
    effect,
    ...texts({ target: end?.['target'] }),
    ...(args === undefined ? {} : { arguments: args }),
    result: laterResult(resultOf(end), late),
    ...(end === undefined ? {} : endOf(end, around)),
    ...(late === undefined ? {} : { later: laterOf(late, around) }),
    ...texts({ trace_id: entry['trace_id'], task_id: entry['task_id'], session_id: entry['session_id'] }),
  }
}

function endOf(end: LedgerEntry, around: LedgerChangeViewContext): Partial<LedgerChangeView> {
  const { label, reasons, result } = around.words(end.seq)
  const rules = strings(end['reasons'])
  const sentences = strings(reasons)
  return {
    ...texts({ label, code: end['error_code'] }),
    ...reachOf(end),
    ...(rules.length === 0 ? {} : { rules }),
    ...(sentences.length === 0 ? {} : { reasons: sentences }),
    ...approvalOf(end, around),
    ...(result === undefined ? {} : effectOf(result)),
  }
}

function reachOf(end: LedgerEntry): Pick<LedgerChangeView, 'touches' | 'may_touch' | 'may_touch_count'> {
  const [touches, doubtful] = [strings(end['touches']), strings(end['may_touch'])]
  const count = end['may_touch_count']
  return {
    ...(touches.length === 0 ? {} : { touches }),
    ...(doubtful.length === 0 ? {} : { may_touch: doubtful }),
    ...(typeof count === 'number' ? { may_touch_count: count } : {}),
  }
}

/** Longer answers are cut: a list of a hundred devices says little about the lamp. */
const MAX_ANSWER_LENGTH = 1_500

function effectOf(result: Json): JsonObject {
  const { before, after, diff, verification } = isJsonObject(result) ? result : {}
  const present = Object.entries({ before, after, diff, verification }).filter(([, value]) => value !== undefined)
  if (present.length > 0) return Object.fromEntries(present) as JsonObject
  return JSON.stringify(result).length > MAX_ANSWER_LENGTH ? {} : { answer: result }
}

function approvalOf(
  end: LedgerEntry,
  { approval, grantedBy }: LedgerChangeViewContext,
): Pick<LedgerChangeView, 'approval' | 'grant'> {
  const [approvalId, granted] = [textOf(end['approval']), textOf(end['grant'])]
  if (granted !== undefined) return { grant: { id: granted, ...texts({ by: grantedBy(granted) }) } }
  if (approvalId === undefined) return {}
  const known = approval(approvalId)
  return { approval: { id: approvalId, ...texts({ state: known?.state, by: known?.decidedBy }) } }
}

/**
 * Fault kinds that do not say whether anything was tried count as failures: a missing answer to a change is
 * `unknown-outcome` by then.
 */
function resultOf(end: LedgerEntry | undefined): ChangeResult {
  if (end === undefined) return 'running'
  if (end.kind === 'call.aborted') return 'unknown'
  if (end['replayed'] === true) return 'repeated'
  if (end['outcome'] === 'ok') return end['dry_run'] === true ? 'planned' : 'done'
  const fault = textOf(end['fault']) as FaultKind | undefined
  if (fault === 'approval-required') return 'asked'
  if (fault === 'unknown-outcome') return 'unknown'
  if (end['outcome'] === 'denied') return 'refused'
  return fault !== undefined && isFaultBeforeAttempt({ kind: fault, message: '' }) ? 'refused' : 'failed'
}

/**
 * A change that was tried and is in effect now counts as done; a change that was done and did not take effect counts as
 * failed.
 */
function laterResult(result: ChangeResult, late: LedgerEntry | undefined): ChangeResult {
  if (late === undefined) return result
  if (late['outcome'] === 'reached') return result === 'failed' || result === 'unknown' ? 'done' : result
  return late['outcome'] === 'not-reached' && result === 'done' ? 'failed' : result
}

function laterOf(late: LedgerEntry, around: LedgerChangeViewContext): NonNullable<LedgerChangeView['later']> {
  const { message, observed } = around.words(late.seq)
  return {
    log_index: late.seq,
    at: late.at,
    outcome: textOf(late['outcome']) ?? '',
    ...texts({ source: late['source'], message }),
    ...(observed === undefined ? {} : { observed }),
  }
}

/** Titles for what people do beside calls, by the kind of the entry. */
const TITLES: Readonly<Record<string, string>> = {
  'approval.approved': 'A person said yes',
  'approval.denied': 'A person said no',
  'body.erased': 'Words were erased from the ledger',
  'grant.created': 'A person said yes to calls to come',
  'grant.ended': 'A person took back a yes to calls to come',
  'ledger.adopted': 'This copy of the ledger was declared the newest',
  'stop.engaged': 'Everything was stopped',
  'stop.released': 'The stop was lifted',
  'token.created': 'A token was made',
  'token.revoked': 'A token was revoked',
}

/** Fields that are shown elsewhere, or numbers that only matter to a verifier. */
const OMITTED_FIELDS = /^(?:v|seq|at|kind|by|body_hash|trace_id|policy_version|.*_hash)$/

function deed(entry: LedgerEntry, around: LedgerChangeViewContext): LedgerChangeView | undefined {
  // An approval that is given back, or lapses, is nobody's decision. For a change past the gateway, nobody knows who
  // made it.
  const by = textOf(entry['by']) ?? (/^(?:approval|grant)\./.test(entry.kind) ? undefined : 'not recorded')
  if (by === undefined) return undefined
  const shown = Object.entries(entry).filter(([field]) => !OMITTED_FIELDS.test(field))
  return {
    log_index: entry.seq,
    at: entry.at,
    ...whoOf(entry, by, around),
    capability: entry.kind,
    title: TITLES[entry.kind] ?? entry.kind,
    family: NODE_FAMILY_NAME,
    effect: 'admin',
    ...texts({ target: entry['target'] ?? entry['name'] }),
    arguments: { ...Object.fromEntries(shown), ...around.words(entry.seq) },
    result: 'done',
    ...texts({ trace_id: entry['trace_id'] }),
  }
}

function whoOf(
  entry: LedgerEntry,
  caller: string,
  { nodeName }: LedgerChangeViewContext,
): Pick<LedgerChangeView, 'caller'> {
  const peer = parsePeerCallerKey(caller)
  return {
    caller,
    ...(peer === undefined ? {} : texts({ node: nodeName(peer.node), actor: peer.actor })),
    ...texts({ client: entry['client'], channel: entry['channel'] }),
  }
}

export interface ChangeFilter {
  readonly family?: string
  readonly caller?: string
  readonly result?: ChangeResult
  readonly text?: string
}

/** Compares with shown fields only: a filter must not reveal what the answer does not contain. */
export function matchesChangeFilter(change: LedgerChangeView, { family, caller, result, text }: ChangeFilter): boolean {
  if (family !== undefined && change.family !== family) return false
  if (result !== undefined && change.result !== result) return false
  if (caller !== undefined && ![...names(change)].includes(caller)) return false
  return text === undefined || JSON.stringify(subject(change)).toLowerCase().includes(text.toLowerCase())
}

/** The names of a caller. A node's name also matches the callers that it speaks for. */
function names({ caller, node, actor, client }: LedgerChangeView): readonly (string | undefined)[] {
  return [caller, toAccountKeyFromCallerKey(caller), node, actor, client]
}

function subject({ capability, title, target, label, touches, arguments: args }: LedgerChangeView): readonly unknown[] {
  return [capability, title, target, label, touches, args]
}

function texts<Name extends string>(
  fields: Readonly<Record<Name, Json | undefined>>,
): { readonly [field in Name]?: string } {
  const present = Object.entries(fields).filter(([, value]) => typeof value === 'string')
  return Object.fromEntries(present) as { readonly [field in Name]?: string }
}

function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function strings(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}
