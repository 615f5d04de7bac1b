/**
 * Audit store: reads the ledger for the contract's audit tool and resources. It only reads.
 */
import { setImmediate } from 'node:timers/promises'
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import type { BodyState, RecordedCall } from '../../ledger/ledger-reader.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { toTextOrEmpty } from './json-text.ts'
import {
  toHomeseerAuditEntryJson,
  readEntryAccessFacts,
  passesAuditFilter,
  type HomeseerAuditFilter,
  type HomeseerAuditReader,
} from './homeseer-audit.ts'

export interface HomeseerAuditSource {
  /** Calls, and decisions about them, before an entry, newest first. */
  readonly listed: Ledger['listed']
  /** The body of an entry. */
  readonly body: (seq: number) => BodyState
}

/**
 * The rows per query, and the most that one call searches: a filter that matches nothing must not read a whole year.
 */
const STRIDE = 500
const MAX_LOOKED_AT = 20_000

/** Tools (`hs4.…`), prompts (`hs4_…`) and resources (`hs4://…`) of this family; calls of others are not shown. */
const OURS = /^hs4[._:]/

export function createHomeseerAuditReader({ listed, body }: HomeseerAuditSource): HomeseerAuditReader {
  const storedMember = (seq: number | undefined, member: string): Json | undefined => {
    const state = seq === undefined ? undefined : body(seq)
    return state?.kind === 'kept' && isJsonObject(state.body) ? state.body[member] : undefined
  }
  const shownOf = ({ seq, end, late }: RecordedCall, entry: JsonObject): JsonObject =>
    toHomeseerAuditEntryJson({
      entry,
      end,
      late,
      args: storedMember(seq, 'args'),
      result: storedMember(end?.seq, 'result'),
    })
  return {
    query: async (filter, mayRead) => {
      const entries: JsonObject[] = []
      let next = filter.before ?? Number.MAX_SAFE_INTEGER
      for (let looked = 0; looked < MAX_LOOKED_AT; looked += STRIDE) {
        const rows = listed(next, STRIDE, filter.traceId)
        for (const row of rows) {
          if (entries.length >= filter.limit) return { entries, next }
          next = row.seq
          const { entry } = row
          if (entry === undefined || !OURS.test(toTextOrEmpty(entry['tool']))) continue
          // The list is newest first, so all following entries are older still.
          if (isTooOld(entry, filter)) return { entries, next: undefined }
          if (!mayRead(readEntryAccessFacts(entry, row.end))) continue
          const shown = shownOf(row, entry)
          if (passesAuditFilter(shown, filter)) entries.push(shown)
        }
        if (rows.length < STRIDE) return { entries, next: undefined }
        // Yields to the event loop before the next query.
        await setImmediate()
      }
      return { entries, next }
    },
  }
}

function isTooOld(entry: JsonObject, { since }: HomeseerAuditFilter): boolean {
  return since !== undefined && Date.parse(toTextOrEmpty(entry['at'])) < Date.parse(since)
}
