/**
 * Prepared change state: what the log says of every prepared change: it is taken at most once, by the caller that
 * prepared it, and before it lapses.
 *
 *   change.prepared ─▶ change.taken ─▶ change.committed · failed · unknown
 *      │    ▲───── change.released ────┘
 *      └─▶ change.dropped
 *
 * The arguments, sealed, and the summary are the body of the entry `preparedSeq`.
 */
import type { LedgerEntry } from '../ledger/entry.ts'
import { readEntryTime, readEntryTextField, readEntryTimeField } from '../ledger/entry.ts'
import type { EntryHandler } from '../ledger/projection.ts'
import type { PreparedChangeResultState, PreparedChangeState } from './prepared-change.ts'
import type { GuardState } from './guard-state.ts'

export interface PreparedChangeRecord {
  /** The change's name in the log: half of its token's hash. */
  readonly name: string
  readonly state: PreparedChangeState
  readonly principal: string
  readonly tool: string
  readonly preparedAtMs: number
  readonly expiresAtMs: number
  readonly preparedSeq: number
  readonly finishedAtMs: number | undefined
}

/** How long the end of a change is remembered. */
const RETENTION_MS = 86_400_000

export const preparedChangeEntryHandlers: Readonly<Record<string, EntryHandler<GuardState>>> = {
  'change.prepared': (state, entry) => {
    const [name, principal, tool] = [
      readEntryTextField(entry, 'change'),
      readEntryTextField(entry, 'principal'),
      readEntryTextField(entry, 'tool'),
    ]
    const expiresAtMs = readEntryTimeField(entry, 'expires_at')
    if (name === undefined || principal === undefined || tool === undefined || expiresAtMs === undefined)
      return 'a field that such an entry needs is missing or wrong'
    if (state.changes.has(name)) return `change ${name} was prepared before`
    const preparedAtMs = readEntryTime(entry)
    state.changes.dropLapsed((change) => isPreparedChangeForgettable(change, preparedAtMs))
    const preparedSeq = entry.seq
    const times = { preparedAtMs, expiresAtMs, finishedAtMs: undefined }
    state.changes.set(name, { name, state: 'prepared', principal, tool, preparedSeq, ...times })
    return undefined
  },

  'change.taken': (state, entry) => {
    const change = known(state, entry)
    if (change?.state !== 'prepared')
      return `${change === undefined ? 'it' : change.name} was not prepared, or taken before`
    if (readEntryTextField(entry, 'principal') !== change.principal)
      return `change ${change.name} belongs to another caller`
    if (readEntryTime(entry) >= change.expiresAtMs) return `change ${change.name} had lapsed`
    state.changes.set(change.name, { ...change, state: 'committing' })
    return undefined
  },

  'change.released': (state, entry) => move(state, entry, { from: 'committing', to: 'prepared' }),
  'change.committed': (state, entry) => end(state, entry, 'committed'),
  'change.failed': (state, entry) => end(state, entry, 'failed'),
  'change.unknown': (state, entry) => end(state, entry, 'unknown'),

  'change.dropped': (state, entry) => {
    const change = known(state, entry)
    if (change?.state !== 'prepared') return 'no such change was prepared'
    state.changes.delete(change.name)
    return undefined
  },
}

/** Whether the change can no longer be committed and its result is no longer kept. */
export function isPreparedChangeForgettable(
  { state, expiresAtMs, finishedAtMs }: PreparedChangeRecord,
  nowMs: number,
): boolean {
  if (state === 'prepared') return expiresAtMs <= nowMs
  return finishedAtMs !== undefined && finishedAtMs + RETENTION_MS <= nowMs
}

function end(state: GuardState, entry: LedgerEntry, to: PreparedChangeResultState): string | undefined {
  return move(state, entry, { from: 'committing', to, finishedAtMs: readEntryTime(entry) })
}

function move(
  { changes }: GuardState,
  entry: LedgerEntry,
  {
    from,
    to,
    finishedAtMs,
  }: { readonly from: PreparedChangeState; readonly to: PreparedChangeState; readonly finishedAtMs?: number },
): string | undefined {
  const change = known({ changes }, entry)
  if (change?.state !== from) return 'no such change was being committed'
  changes.set(change.name, { ...change, state: to, finishedAtMs })
  return undefined
}

function known({ changes }: Pick<GuardState, 'changes'>, entry: LedgerEntry): PreparedChangeRecord | undefined {
  return changes.get(readEntryTextField(entry, 'change') ?? '')
}
