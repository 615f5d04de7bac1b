/**
 * Thought audit: the table of thoughts held against what the ledger says of them, for whoever verifies the whole
 * ledger. Every column is a field of the entry, hash and chain included, so that a row is right when it says the same;
 * who asks where a chain broke asks audit_verify_chain (verify.ts).
 *
 * Pure: it reads through what it is given.
 */
import type { CopyAudit, CopyNews, KeptLeaves } from '../../ledger/copies.ts'
import { leafFlaws, thoughtLeaf, THOUGHT_EVENT } from './leaf.ts'
import type { ThoughtStore } from './thought-store.ts'

export interface AuditedThoughts {
  readonly thoughts: Pick<ThoughtStore, 'at' | 'after'>
  readonly leaves: Pick<KeptLeaves, 'entry'>
  readonly news: Pick<CopyNews, 'found'>
}

/** Rows per call: a few milliseconds. */
const PIECE = 200

export function createThoughtAudit({ thoughts, leaves, news }: AuditedThoughts): CopyAudit {
  // Ledger and table have one order.
  let lastSeq = 0
  // Whoever adds a row may number it as he likes.
  let lastSeen = Number.MIN_SAFE_INTEGER
  return {
    read: (entry, bytes) => {
      const { seq, kind, id } = entry
      if (kind !== THOUGHT_EVENT || typeof id !== 'string') return
      const row = thoughts.at(seq)
      const name = { what: 'thought', id, seq } as const
      if (row === undefined) return news.found({ kind: 'copy-missing', ...name })
      const fields = [...leafFlaws(row, { entry, bytes }), ...(row.seq <= lastSeq ? ['seq'] : [])]
      lastSeq = Math.max(lastSeq, row.seq)
      if (fields.length > 0) news.found({ kind: 'copy-differs', ...name, fields })
    },
    compare: () => {
      const rows = thoughts.after(lastSeen, PIECE)
      for (const { id, log_index: index } of rows) {
        lastSeen = index
        const leaf = leaves.entry(index)
        if (leaf === undefined || thoughtLeaf(leaf.bytes) === undefined)
          news.found({ kind: 'copy-unfounded', what: 'thought', id })
      }
      return rows.length === PIECE
    },
  }
}
