/**
 * Agent key audit: the table of agents' keys held against what the ledger says of them. Who takes a key away, or puts his
 * own in its place, writes under that agent's name.
 *
 *   thought, signed ──the first of each agent──▶ its key ──▶ rows: exchanged, or told of by nobody ──▶ rows that were removed
 *
 * Of an agent it remembers the number of an entry: the key is read again when the row is compared.
 *
 * Pure: it reads through what it is given.
 */
import type { CopyAudit, CopyNews, KeptLeaves } from '../../ledger/copies.ts'
import { thoughtLeaf, THOUGHT_EVENT } from './leaf.ts'
import type { AgentKeyRow, ThoughtStore } from './thought-store.ts'

export interface AuditedAgentKeys {
  readonly thoughts: Pick<ThoughtStore, 'keyOf' | 'keysAfter'>
  readonly leaves: Pick<KeptLeaves, 'entry'>
  readonly news: Pick<CopyNews, 'found'>
}

/** Rows per call: a few milliseconds. */
const PIECE = 200

export function createAgentKeyAudit({ thoughts, leaves, news }: AuditedAgentKeys): CopyAudit {
  /** The entry of the first thought that each agent signed. */
  const signedFirst = new Map<string, number>()
  let lastSeen: string | undefined

  const compareRow = ({ agent_id: id, public_key, log_index }: AgentKeyRow): void => {
    const seq = signedFirst.get(id)
    if (seq === undefined) return news.found({ kind: 'copy-unfounded', what: 'agent key', id })
    const leaf = leaves.entry(seq)
    const thought = leaf && thoughtLeaf(leaf.bytes)
    // What was an entry a moment ago and is none any more is for the ledger's own audit to name.
    if (thought === undefined) return
    const fields = [
      ...(thought.entry['public_key'] === public_key ? [] : ['public_key']),
      ...(log_index === seq ? [] : ['log_index']),
    ]
    if (fields.length > 0) news.found({ kind: 'copy-differs', what: 'agent key', id, seq, fields })
  }

  return {
    read: ({ seq, kind, agent_id: id, public_key }) => {
      if (kind !== THOUGHT_EVENT || typeof id !== 'string' || public_key === undefined) return
      if (!signedFirst.has(id)) signedFirst.set(id, seq)
    },
    compare: () => {
      const rows = thoughts.keysAfter(lastSeen, PIECE)
      for (const row of rows) compareRow(row)
      lastSeen = rows.at(-1)?.agent_id ?? lastSeen
      if (rows.length === PIECE) return true
      for (const [id, seq] of signedFirst)
        if (thoughts.keyOf(id) === undefined) news.found({ kind: 'copy-missing', what: 'agent key', id, seq })
      return false
    },
  }
}
