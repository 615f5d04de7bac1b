/**
 * Audit store: reads the ledger's tables for the contract's audit tool and resources. It only reads.
 *
 * Does I/O.
 */
import { setImmediate } from 'node:timers/promises'
import { fromUtf8 } from '../../core/bytes.ts'
import type { Database } from '../../core/database-store.ts'
import { isJsonObject, jsonIn, type Json, type JsonObject } from '../../core/json.ts'
import type { BodyState } from '../../ledger/ledger.ts'
import { TRACE_ID } from '../../ledger/ledger-store.ts'
import { textOf } from './json-text.ts'
import { auditEntry, auditSubject, passes, type AuditFilter, type AuditTrail } from './audit.ts'

export interface AuditSource {
  readonly database: Database
  /** What is kept beside an entry. */
  readonly body: (seq: number) => BodyState
}

/** Rows per look, and the most that one question looks at: a filter that fits nothing must not read a year. */
const STRIDE = 500
const MAX_LOOKED_AT = 20_000

/** Tools (`hs4.…`), prompts (`hs4_…`) and resources (`hs4://…`) of this family; others' calls are not its to show. */
const OURS = /^hs4[._:]/

export function createAuditTrail({ database, body }: AuditSource): AuditTrail {
  const [select, selectOfTrace] = [database.sql.prepare(rowsAmong('')), database.sql.prepare(rowsAmong(OF_TRACE))]
  const kept = (seq: unknown, member: string): Json | undefined => {
    const state = typeof seq === 'number' ? body(seq) : undefined
    return state?.kind === 'kept' && isJsonObject(state.body) ? state.body[member] : undefined
  }
  const read = (before: number, traceId: string | undefined): Row[] =>
    traceId === undefined ? select.all(before, STRIDE) : selectOfTrace.all(before, traceId, STRIDE)
  const shownOf = (row: Row, entry: JsonObject): JsonObject =>
    auditEntry({
      entry,
      end: parse(row['end_bytes']),
      args: kept(row['seq'], 'args'),
      result: kept(row['end_seq'], 'result'),
    })
  return {
    query: async (filter, mayRead) => {
      const entries: JsonObject[] = []
      let next = filter.before ?? Number.MAX_SAFE_INTEGER
      for (let looked = 0; looked < MAX_LOOKED_AT; looked += STRIDE) {
        const rows = read(next, filter.traceId)
        for (const row of rows) {
          if (entries.length >= filter.limit) return { entries, next }
          next = Number(row['seq'])
          const entry = parse(row['bytes'])
          if (entry === undefined || !OURS.test(textOf(entry['tool']))) continue
          // Newest first, so all that follow are older still.
          if (isTooOld(entry, filter)) return { entries, next: undefined }
          if (!mayRead(auditSubject(entry, parse(row['end_bytes'])))) continue
          const shown = shownOf(row, entry)
          if (passes(shown, filter)) entries.push(shown)
        }
        if (rows.length < STRIDE) return { entries, next: undefined }
        // Others have a turn before the next look.
        await setImmediate()
      }
      return { entries, next }
    },
  }
}

type Row = Readonly<Record<string, unknown>>

const OF_TRACE = `AND entry.seq IN (SELECT seq FROM ledger_entry WHERE ${TRACE_ID} = ?)`

/** `closes` is indexed, `seq` is the key: newest first costs what it shows. */
function rowsAmong(condition: string): string {
  return `SELECT entry.seq, entry.bytes, ending.seq AS end_seq, ending.bytes AS end_bytes
    FROM ledger_entry AS entry LEFT JOIN ledger_entry AS ending ON ending.closes = entry.seq
    WHERE entry.seq < ? ${condition}
      AND (entry.kind = 'call.enter' OR entry.kind GLOB 'change.*' OR entry.kind GLOB 'approval.*')
    ORDER BY entry.seq DESC LIMIT ?`
}

function isTooOld(entry: JsonObject, { since }: AuditFilter): boolean {
  return since !== undefined && Date.parse(textOf(entry['at'])) < Date.parse(since)
}

/** Bytes that are no entry any more are skipped here and named by ledger_verify. */
function parse(bytes: unknown): JsonObject | undefined {
  if (!(bytes instanceof Uint8Array)) return undefined
  const value = jsonIn(fromUtf8(bytes))
  return isJsonObject(value) ? value : undefined
}
