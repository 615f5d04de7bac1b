/**
 * Approval audit: what the ledger says of a question, and how its row has to look.
 *
 *   approval.requested ─▶ whose call, which call, what is shown     approved · denied ─▶ by whom, until when
 *   used · expired ─▶ what became of it
 *
 * Pure.
 */
import { isJsonObject } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import { BLANK } from '../ledger/copies.ts'
import type { CommittedBody } from '../ledger/copies.ts'
import type { LedgerEntry } from '../ledger/entry.ts'
import { wrongOf } from '../ledger/row-audit.ts'
import type { AuditedTable, Columns, Flaws, Said } from '../ledger/row-audit.ts'
import type { ApprovalState } from './approval.ts'
import { sha256 } from './binding.ts'
import type { Binding } from './binding.ts'
import { agrees, isSame, millis, parsed } from './row-audit.ts'
import type { ToldForAWhile } from './row-audit.ts'

interface ToldApproval extends ToldForAWhile {
  readonly state: ApprovalState
  /** The entry of the question, and of the yes or no. */
  readonly asked: number
  readonly decided: number | undefined
  readonly lapsesAtMs: number
}

const STATES: Readonly<Record<string, ApprovalState>> = {
  'approval.requested': 'requested',
  'approval.approved': 'approved',
  'approval.denied': 'denied',
  'approval.expired': 'expired',
  'approval.used': 'used',
}

export const auditedApprovals: AuditedTable<ToldApproval> = {
  what: 'approval',
  subject: ({ kind, approval: id }) => (Object.hasOwn(STATES, kind) && typeof id === 'string' ? id : undefined),
  tell: (before, entry) => {
    const { seq } = entry
    const state = STATES[entry.kind] ?? 'requested'
    if (state === 'requested') {
      const lapsesAtMs = millis(entry['expires_at']) ?? 0
      return { seq, state, asked: seq, decided: undefined, lapsesAtMs, keptUntilMs: Infinity }
    }
    // An answer without a question is ignored.
    if (before === undefined) return undefined
    // Giving a yes back is not a decision: whoever gave it stays its author.
    const decided = entry['by'] === undefined ? before.decided : seq
    const lapsesAtMs = state === 'denied' ? (millis(entry['expires_at']) ?? before.lapsesAtMs) : before.lapsesAtMs
    return { ...before, seq, state, decided, lapsesAtMs, keptUntilMs: keptUntil(state, lapsesAtMs) }
  },
  compare: (row, told, said) => {
    const [asked, last] = [said.entry(told.asked), said.entry(told.seq)]
    const decided = told.decided === undefined ? undefined : said.entry(told.decided)
    if (asked === undefined || last === undefined) return { wrong: [] }
    const question = flawsOfQuestion(row, asked, said)
    const reason = flawsOfReason(row, { last, state: told.state }, said)
    return {
      wrong: [...wrongOf(rightFacts(row, told, { asked, decided, last })), ...question.wrong, ...reason.wrong],
      doubted: [...(question.doubted ?? []), ...(reason.doubted ?? [])],
    }
  },
}

/** A no holds until the question would have lapsed; without its row the call could be asked for again. */
function keptUntil(state: ApprovalState, lapsesAtMs: number): number {
  if (state === 'denied') return lapsesAtMs
  return state === 'approved' ? Infinity : -Infinity
}

interface Entries {
  readonly asked: LedgerEntry
  readonly decided: LedgerEntry | undefined
  readonly last: LedgerEntry
}

function rightFacts(row: Columns, { state }: ToldApproval, { asked, decided, last }: Entries): Record<string, boolean> {
  // A yes, or the no that takes it back, says until when it holds. Entries of earlier versions do not.
  const bounding = decided?.kind === 'approval.approved' || decided?.['expires_at'] !== undefined ? decided : asked
  const expiresAtMs = millis(bounding?.['expires_at'])
  return {
    state: row['state'] === state,
    principal: row['principal'] === asked['principal'],
    tool: row['tool'] === asked['tool'],
    args_hash: row['args_hash'] === asked['args_hash'],
    binding: isBoundTo(parsed(row['binding']), asked),
    expires_at: expiresAtMs === undefined || row['expires_at'] === expiresAtMs,
    decided_by: row['decided_by'] === (decided?.['by'] ?? null),
    grant_id: row['grant_id'] === (decided?.['grant'] ?? null),
    used_trace: row['used_trace'] === (state === 'used' ? last['trace_id'] : null),
  }
}

function isBoundTo(binding: Json | undefined, asked: LedgerEntry): boolean {
  if (!isJsonObject(binding)) return false
  const told: Readonly<Record<keyof Binding, Json | undefined>> = {
    principal: asked['principal'],
    tool: asked['tool'],
    argsHash: asked['args_hash'],
    definitionHash: asked['definition_hash'],
    target: asked['target'] ?? null,
    policyVersion: asked['policy_version'],
    promiseHash: asked['promise_hash'],
  }
  return Object.entries(told).every(([field, value]) => agrees(value, binding[field]))
}

/** What a person reads before they decide, and what a grant would be made from. */
function flawsOfQuestion(row: Columns, asked: LedgerEntry, said: Said): Flaws {
  const [shown, leaves] = [parsed(row['shown']), parsed(row['leaves'])]
  if (!isJsonObject(shown)) return { wrong: ['shown'] }
  const words = said.words(asked)
  const isBlank = isSame(shown['arguments'], {}) && shown['label'] === BLANK && shown['preview'] === undefined
  const kept = { arguments: shown['arguments'], preview: shown['preview'] ?? null, label: shown['label'] ?? null }
  const right = {
    shown:
      isSame(asked['preview_hash'], shown['previewHash']) &&
      asked['trace_id'] === shown['traceId'] &&
      (words.kind !== 'kept' || isSame(words.body, kept as Json)),
    // Erased with the words.
    leaves:
      (row['leaves'] === null && words.kind === 'gone') ||
      agrees(asked['leaves_hash'], leaves === undefined ? null : sha256(leaves)),
  }
  return { wrong: wrongOf(right), doubted: isDoubtful(words, isBlank) ? [{ seq: asked.seq, field: 'shown' }] : [] }
}

function flawsOfReason(
  { reason }: Columns,
  { last, state }: { readonly last: LedgerEntry; readonly state: ApprovalState },
  said: Said,
): Flaws {
  if (state === 'expired') return { wrong: wrongOf({ reason: reason === last['because'] }) }
  if (state !== 'denied') return { wrong: wrongOf({ reason: reason === null }) }
  const words = said.words(last)
  const right = words.kind !== 'kept' || (isJsonObject(words.body) && reason === words.body['reason'])
  const doubted = isDoubtful(words, reason === BLANK) ? [{ seq: last.seq, field: 'reason' }] : []
  return { wrong: wrongOf({ reason: right }), doubted }
}

/** Words that the ledger has no longer and the row still shows: nobody can tell whether they are the ones. */
function isDoubtful({ kind }: CommittedBody, isBlank: boolean): boolean {
  return kind === 'gone' && !isBlank
}
