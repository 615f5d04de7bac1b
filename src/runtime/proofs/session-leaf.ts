/**
 * Session leaf: what the ledger says of a session, and whether the tables say the same. A session that was dropped, or
 * a root that was exchanged, shows here: the start and the seal are entries of the ledger.
 *
 * Pure.
 */
import { hex } from '../../core/bytes.ts'
import { isJsonObject } from '../../core/json.ts'
import { BLANK } from '../../ledger/copies.ts'
import type { CommittedBody } from '../../ledger/copies.ts'
import type { LedgerEntry, LedgerEvent } from '../../ledger/entry.ts'
import type { StoredEntry } from '../../ledger/entry.ts'
import { leafHash } from '../../ledger/tree.ts'
import type { Session, SessionRoot } from './session-store.ts'

export const SESSION_START = 'session.start'
export const SESSION_FINAL = 'session.final'

/** The intent is not in it: words that may have to be erased are the body of the entry. */
export function startEvent({
  session_id,
  task_id,
  principal,
}: Pick<Session, 'session_id' | 'task_id' | 'principal'>): LedgerEvent {
  return { kind: SESSION_START, session_id, task_id: task_id ?? undefined, principal }
}

/** What is wrong with a session's row, and what of it cannot be told since the words were erased. */
export interface StartFlaws {
  readonly wrong: readonly string[]
  readonly doubted: readonly string[]
}

/** Every column of a session but `finalized_at`, which is its seal's, is a field of its start or the body of it. */
export function startFlaws(session: Session, entry: LedgerEntry, body: CommittedBody): StartFlaws {
  const right: Readonly<Record<string, boolean>> = {
    log_index: entry.seq === session.log_index,
    started_at: entry.at === session.started_at,
    principal: entry['principal'] === session.principal,
    // An absent field of an entry is a null column: canonical JSON leaves out what is undefined.
    task_id: (entry['task_id'] ?? null) === session.task_id,
    intent: body.kind === 'gone' || intentOf(body) === session.intent,
  }
  return {
    wrong: Object.keys(right).filter((field) => right[field] === false),
    doubted: body.kind === 'gone' && session.intent !== BLANK ? ['intent'] : [],
  }
}

/** `undefined` for a body that is not the one that was committed to: nothing can be shown to be what was said. */
function intentOf(body: CommittedBody): unknown {
  return body.kind === 'kept' && isJsonObject(body.body) ? body.body['intent'] : undefined
}

/** The fields of a seal that are a column of `merkle_roots` under the same name. */
const SEALED = ['session_id', 'root', 'record_count', 'first_index', 'last_index'] as const

/** Columns of a root that its entry says otherwise: each is a field of the entry, or follows from it. */
export function sealFlaws(
  root: SessionRoot,
  { entry, bytes }: Pick<StoredEntry, 'entry' | 'bytes'>,
): readonly string[] {
  const right: Readonly<Record<string, boolean>> = {
    log_index: entry.kind === SESSION_FINAL && entry.seq === root.log_index,
    finalized_at: entry.at === root.finalized_at,
    leaf_hash: hex(leafHash(bytes)) === root.leaf_hash,
  }
  return [
    ...Object.keys(right).filter((field) => right[field] === false),
    ...SEALED.filter((field) => entry[field] !== root[field]),
  ]
}

/** Whether a session began as its row says. */
export function isStartedBy(session: Session, entry: LedgerEntry, body: CommittedBody): boolean {
  const isItsStart = entry.kind === SESSION_START && entry['session_id'] === session.session_id
  return isItsStart && startFlaws(session, entry, body).wrong.length === 0
}

/** Whether the tables agree with the entry of a session's seal. */
export function isSealedBy(
  root: SessionRoot,
  seal: Pick<StoredEntry, 'entry' | 'bytes'>,
  session?: Pick<Session, 'finalized_at'>,
): boolean {
  const isClosed = session === undefined || session.finalized_at === root.finalized_at
  return isClosed && sealFlaws(root, seal).length === 0
}
