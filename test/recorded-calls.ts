/** Recorded calls: what a log's files say of calls, read beside the gateway that writes them. */
import { join } from 'node:path'
import { decodeEntry } from '../src/ledger/entry.ts'
import type { LedgerEntry } from '../src/ledger/entry.ts'
import { LogStore } from '../src/ledger/log-store.ts'

export interface RecordedAction {
  readonly sequence_no: number
  readonly tool: string
  readonly principal: string
  readonly trace_id: string
  readonly outcome: string
  readonly error_code: string | null
}

export function recordedEntries(dataRoot: string, kind?: string): readonly LedgerEntry[] {
  return withLog(dataRoot, (log) =>
    log.entries(0, log.size).flatMap(({ bytes }) => {
      const decoded = decodeEntry(bytes)
      return decoded.ok && (kind === undefined || decoded.value.kind === kind) ? [decoded.value] : []
    }),
  )
}

/** Each call with how it ended; `running` while it has not. */
export function recordedActions(dataRoot: string): readonly RecordedAction[] {
  const entries = recordedEntries(dataRoot)
  const ends = new Map(
    entries
      .filter(({ kind }) => kind === 'call.exit' || kind === 'call.aborted')
      .map((entry) => [Number(entry['call']), entry]),
  )
  return entries
    .filter(({ kind }) => kind === 'call.enter')
    .map((entry) => {
      const end = ends.get(entry.seq)
      const code = end?.['error_code']
      return {
        sequence_no: entry.seq,
        tool: textOf(entry['tool']),
        principal: textOf(entry['principal']),
        trace_id: textOf(entry['trace_id']),
        outcome: outcomeOf(end),
        error_code: typeof code === 'string' ? code : null,
      }
    })
}

function outcomeOf(end: LedgerEntry | undefined): string {
  if (end === undefined) return 'running'
  return end.kind === 'call.aborted' ? 'aborted' : textOf(end['outcome'])
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The texts of all bodies that are kept. */
export function recordedBodies(dataRoot: string): readonly string[] {
  return withLog(dataRoot, (log) =>
    log.entries(0, log.size).flatMap(({ seq }) => {
      const stored = log.body(seq)
      return stored === undefined ? [] : [Buffer.from(stored.body).toString()]
    }),
  )
}

function withLog<Value>(dataRoot: string, read: (log: LogStore) => Value): Value {
  const log = new LogStore({ directory: join(dataRoot, 'ledger'), key: undefined, readOnly: true })
  try {
    return read(log)
  } finally {
    log.close()
  }
}
