/**
 * Idempotency key state: the keys according to the log. Each key allows one act until it lapses.
 *
 *   key.reserved ─▶ key.done · key.unknown · key.freed      key.freed ◀── key.done, to make room
 *
 * The answer is the body of the entry `outcomeSeq`.
 */
import type { LedgerEntry } from '../ledger/entry.ts'
import { readEntryTime, readEntryNumberField, readEntryTextField, readEntryTimeField } from '../ledger/entry.ts'
import type { EntryHandler } from '../ledger/projection.ts'
import type { GuardState } from './guard-state.ts'

export interface IdempotencyKeyRecord {
  /** Keyed hash of the caller, the tool and the caller's key. */
  readonly hash: string
  readonly principal: string
  readonly argsHash: string
  readonly state: 'in-flight' | 'done' | 'unknown'
  readonly outcomeSeq: number | undefined
  readonly reservedAtMs: number
  readonly expiresAtMs: number
}

export const idempotencyKeyEntryHandlers: Readonly<Record<string, EntryHandler<GuardState>>> = {
  'key.reserved': (state, entry) => {
    const [hash, principal, argsHash] = [
      readEntryTextField(entry, 'key'),
      readEntryTextField(entry, 'principal'),
      readEntryTextField(entry, 'args_hash'),
    ]
    const expiresAtMs = readEntryTimeField(entry, 'expires_at')
    if (hash === undefined || principal === undefined || argsHash === undefined || expiresAtMs === undefined)
      return 'a field that such an entry needs is missing or wrong'
    const reservedAtMs = readEntryTime(entry)
    const before = state.keys.get(hash)
    if (before !== undefined && isIdempotencyKeyActive(before, reservedAtMs)) return 'this key was used before'
    // A key is added last, so the oldest keys are first in the table and lapse first.
    state.keys.delete(hash)
    state.keys.dropLapsed((key) => !isIdempotencyKeyActive(key, reservedAtMs))
    const outcomeSeq = undefined
    state.keys.set(hash, { hash, principal, argsHash, state: 'in-flight', outcomeSeq, reservedAtMs, expiresAtMs })
    return undefined
  },

  'key.done': (state, entry) => {
    const key = inFlight(state, entry)
    const expiresAtMs = readEntryTimeField(entry, 'expires_at')
    if (key === undefined || expiresAtMs === undefined) return NOT_RESERVED
    const outcomeSeq = entry['body_hash'] === undefined ? undefined : entry.seq
    state.keys.set(key.hash, { ...key, state: 'done', expiresAtMs, outcomeSeq })
    return undefined
  },

  'key.unknown': (state, entry) => {
    const key = inFlight(state, entry)
    const expiresAtMs = readEntryTimeField(entry, 'expires_at')
    if (key === undefined || expiresAtMs === undefined) return NOT_RESERVED
    state.keys.set(key.hash, { ...key, state: 'unknown', expiresAtMs })
    return undefined
  },

  'key.freed': (state, entry) => {
    const key = known(state, entry)
    // A key with an unknown outcome is never free before it lapses.
    if (key === undefined || key.state === 'unknown') return NOT_RESERVED
    state.keys.delete(key.hash)
    return undefined
  },

  /**
   * Setting the clock forward does not mean that time has passed: keys that were reserved before still last as long as
   * they would have.
   */
  'clock.moved': (state, entry) => {
    const byMs = readEntryNumberField(entry, 'by_ms')
    if (byMs === undefined || byMs <= 0) return 'it does not say by how much'
    const beforeMs = readEntryTime(entry) - byMs
    for (const key of [...state.keys.values()].filter(({ reservedAtMs }) => reservedAtMs <= beforeMs)) {
      const { hash, reservedAtMs, expiresAtMs } = key
      state.keys.set(hash, { ...key, reservedAtMs: reservedAtMs + byMs, expiresAtMs: expiresAtMs + byMs })
    }
    return undefined
  },
}

/** A call in flight stays active whatever the clock says, because the clock may have been set. */
export function isIdempotencyKeyActive({ state, expiresAtMs }: IdempotencyKeyRecord, nowMs: number): boolean {
  return state === 'in-flight' || expiresAtMs > nowMs
}

function inFlight(state: GuardState, entry: LedgerEntry): IdempotencyKeyRecord | undefined {
  const key = known(state, entry)
  return key?.state === 'in-flight' ? key : undefined
}

function known({ keys }: GuardState, entry: LedgerEntry): IdempotencyKeyRecord | undefined {
  return keys.get(readEntryTextField(entry, 'key') ?? '')
}

const NOT_RESERVED = 'no such key is reserved'
