/**
 * Session eraser: blanks the intent that an audit session has from its start.
 *
 * Pure: it writes through what it is given.
 */
import type { Eraser } from '../../ledger/copies.ts'
import type { LedgerEntry } from '../../ledger/entry.ts'
import { SESSION_START } from './session-leaf.ts'
import type { SessionStore } from './session-store.ts'

export function createSessionEraser(
  { kind, session_id: id }: LedgerEntry,
  sessions: () => Pick<SessionStore, 'blank'>,
): Eraser | undefined {
  if (kind !== SESSION_START || typeof id !== 'string') return undefined
  return { blank: () => (sessions().blank(id) ? [{ what: 'session', id }] : []) }
}
