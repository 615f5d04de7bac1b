/**
 * Audit store: reads the ledger's tables for the contract's audit tool and resources. It only reads.
 *
 * Does I/O.
 */
import type { StatementSync } from 'node:sqlite'
import { fromUtf8 } from '../../core/bytes.ts'
import type { Database } from '../../core/database-store.ts'
import { isJsonObject, jsonIn, type Json, type JsonObject } from '../../core/json.ts'
import type { BodyState } from '../../ledger/ledger.ts'
import { textOf } from './json-text.ts'
import { auditEntry, passes, type AuditFilter, type AuditTrail } from './audit.ts'

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
  // `closes` is indexed, `seq` is the key: newest first costs what it shows.
  const select = database.sql.prepare(
    `SELECT entry.seq, entry.bytes, ending.seq AS end_seq, ending.bytes AS end_bytes
     FROM ledger_entry AS entry LEFT JOIN ledger_entry AS ending ON ending.closes = entry.seq
     WHERE entry.seq < ? AND (entry.kind = 'call.enter' OR entry.kind GLOB 'change.*' OR entry.kind GLOB 'approval.*')
     ORDER BY entry.seq DESC LIMIT ?`,
  )
  const kept = (seq: unknown, member: string): Json | undefined => {
    const state = typeof seq === 'number' ? body(seq) : undefined
    return state?.kind === 'kept' && isJsonObject(state.body) ? state.body[member] : undefined
  }
  return {
    query: (filter) => {
      const found: JsonObject[] = []
      for (const row of newestFirst(select)) {
        const entry = parse(row['bytes'])
        if (entry === undefined || !OURS.test(textOf(entry['tool']))) continue
        // Newest first, so all that follow are older still.
        if (isTooOld(entry, filter)) break
        const shown = auditEntry({
          entry,
          end: parse(row['end_bytes']),
          args: kept(row['seq'], 'args'),
          result: kept(row['end_seq'], 'result'),
        })
        if (passes(shown, filter)) found.push(shown)
        if (found.length >= filter.limit) break
      }
      return found
    },
  }
}

/** A stride at a time, so that a question which is answered early has read little. */
function* newestFirst(select: StatementSync): Generator<Readonly<Record<string, unknown>>> {
  let before = Number.MAX_SAFE_INTEGER
  for (let looked = 0; looked < MAX_LOOKED_AT; looked += STRIDE) {
    const rows = select.all(before, STRIDE)
    yield* rows
    if (rows.length < STRIDE) return
    before = Number(rows.at(-1)?.['seq'])
  }
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
