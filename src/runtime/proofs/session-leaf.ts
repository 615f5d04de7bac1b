/**
 * Session leaf: what the ledger says of a session, and whether the tables say the same. A session that was dropped, or
 * a root that was exchanged, shows here: the start and the seal are entries of the ledger.
 *
 * Pure.
 */
import { hex } from '../../core/bytes.ts'
import type { LedgerEntry, LedgerEvent } from '../../ledger/entry.ts'
import type { StoredEntry } from '../../ledger/ledger.ts'
import { leafHash } from '../../ledger/tree.ts'
import type { Session, SessionRoot, SessionStore } from './session-store.ts'

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

/** The fields of a seal that are a column of `merkle_roots` under the same name. */
const SEALED = ['session_id', 'root', 'record_count', 'first_index', 'last_index'] as const

/** Every column of a root is a field of its entry, or follows from it. */
export function isSealedBy(root: SessionRoot, { entry, bytes }: Pick<StoredEntry, 'entry' | 'bytes'>): boolean {
  return (
    entry.kind === SESSION_FINAL &&
    entry.seq === root.log_index &&
    entry.at === root.finalized_at &&
    hex(leafHash(bytes)) === root.leaf_hash &&
    SEALED.every((field) => entry[field] === root[field])
  )
}

function isStartedBy(session: Session, entry: LedgerEntry): boolean {
  return (
    entry.seq === session.log_index &&
    entry.at === session.started_at &&
    entry['principal'] === session.principal &&
    // An absent field of an entry is a null column: canonical JSON leaves out what is undefined.
    (entry['task_id'] ?? null) === session.task_id
  )
}

/** Whether the tables agree with the entry of a session's start or seal. */
export function agrees(
  sessions: Pick<SessionStore, 'get' | 'root'>,
  stored: Pick<StoredEntry, 'entry' | 'bytes'>,
): boolean {
  const id = stored.entry['session_id']
  const session = typeof id === 'string' ? sessions.get(id) : undefined
  if (session === undefined) return false
  if (stored.entry.kind === SESSION_START) return isStartedBy(session, stored.entry)
  const root = sessions.root(session.session_id)
  return root !== undefined && session.finalized_at === root.finalized_at && isSealedBy(root, stored)
}
