/**
 * Session entries: the ledger entries of a session, and whether the tables agree with them. A deleted session, or a
 * replaced root, is detected here: the start and the seal are entries of the ledger.
 */
import { toHex } from '../../core/bytes.ts'
import type { LedgerEvent } from '../../ledger/entry.ts'
import type { StoredEntry } from '../../ledger/entry.ts'
import { computeLeafHash } from '../../ledger/tree.ts'
import type { AuditSession, SealedSessionRoot } from './audit-session-reader-store.ts'

export const SESSION_START_KIND = 'session.start'
export const SESSION_FINAL_KIND = 'session.final'

/** Without the intent: texts that may have to be erased are in the entry's body. */
export function createSessionStartEvent({
  session_id,
  task_id,
  principal,
  client,
}: Pick<AuditSession, 'session_id' | 'task_id' | 'principal' | 'client'>): LedgerEvent {
  return { kind: SESSION_START_KIND, session_id, task_id: task_id ?? undefined, principal, client: client ?? undefined }
}

/** The fields of a seal that are a column of `merkle_roots` under the same name. */
const SEALED = ['session_id', 'root', 'record_count', 'first_index', 'last_index'] as const

/** Columns of a root that differ from its entry: each is a field of the entry, or follows from it. */
function listSessionSealFlaws(
  root: SealedSessionRoot,
  { entry, bytes }: Pick<StoredEntry, 'entry' | 'bytes'>,
): readonly string[] {
  const right: Readonly<Record<string, boolean>> = {
    log_index: entry.kind === SESSION_FINAL_KIND && entry.seq === root.log_index,
    finalized_at: entry.at === root.finalized_at,
    leaf_hash: toHex(computeLeafHash(bytes)) === root.leaf_hash,
  }
  return [
    ...Object.keys(right).filter((field) => right[field] === false),
    ...SEALED.filter((field) => entry[field] !== root[field]),
  ]
}

/** Whether the tables agree with the entry of a session's seal. */
export function matchesSessionSealEntry(
  root: SealedSessionRoot,
  seal: Pick<StoredEntry, 'entry' | 'bytes'>,
  session?: Pick<AuditSession, 'finalized_at'>,
): boolean {
  const isClosed = session === undefined || session.finalized_at === root.finalized_at
  return isClosed && listSessionSealFlaws(root, seal).length === 0
}
