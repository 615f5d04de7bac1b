/**
 * Agent key audit: what the ledger says of an agent's key, and how its row has to look. Who takes a key away, or puts
 * his own in its place, writes under that agent's name; what was written so stays, also when the key is put back.
 *
 *   thought, signed ──the first of each agent──▶ its key, for good ──▶ row
 *   thought of that agent later, unsigned or signed with another ──▶ its key was not there then
 *
 * Pure: it reads through what it is given.
 */
import type { CopyAudit } from '../../ledger/copies.ts'
import { createRowAudit, wrongOf } from '../../ledger/row-audit.ts'
import type { AuditedTable, RowAuditParts, Told } from '../../ledger/row-audit.ts'
import { THOUGHT_EVENT } from './leaf.ts'
import type { AgentKeyRow, ThoughtStore } from './thought-store.ts'

const auditedAgentKeys: AuditedTable<Told, AgentKeyRow> = {
  what: 'agent key',
  subject: ({ kind, agent_id: name, public_key: key }) =>
    kind === THOUGHT_EVENT && key !== undefined && typeof name === 'string' ? name : undefined,
  tell: (before, { seq }) => before ?? { seq },
  compare: ({ public_key, log_index }, { seq }, said) => {
    const signed = said.entry(seq)
    if (signed === undefined) return { wrong: [] }
    return { wrong: wrongOf({ public_key: public_key === signed['public_key'], log_index: log_index === seq }) }
  },
}

export function createAgentKeyAudit(
  thoughts: Pick<ThoughtStore, 'keyOf' | 'keysAfter'>,
  parts: Pick<RowAuditParts<Told, AgentKeyRow>, 'leaves' | 'news'>,
): CopyAudit {
  const rows = createRowAudit(auditedAgentKeys, {
    ...parts,
    rows: {
      idOf: ({ agent_id: name }) => name,
      after: (last, limit) => thoughts.keysAfter(last?.agent_id, limit),
      has: (name) => thoughts.keyOf(name) !== undefined,
    },
  })
  const keys = new Map<string, unknown>()
  return {
    read: (entry, bytes) => {
      rows.read(entry, bytes)
      const { seq, kind, agent_id: name, public_key: key } = entry
      if (kind !== THOUGHT_EVENT || typeof name !== 'string') return
      const own = keys.get(name) ?? key
      if (own === undefined) return
      keys.set(name, own)
      if (own !== key) parts.news.found({ kind: 'copy-evaded', what: 'agent key', id: name, seq })
    },
    compare: rows.compare,
  }
}
