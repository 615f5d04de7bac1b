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
import { createNamedAudit } from '../named-audit.ts'
import type { NamedAuditParts, NamedTable } from '../named-audit.ts'
import { THOUGHT_EVENT } from './leaf.ts'
import type { AgentKeyRow, ThoughtStore } from './thought-store.ts'

type KeyedThoughts = Pick<ThoughtStore, 'keyOf' | 'keysAfter'>

export function createAgentKeyAudit(thoughts: KeyedThoughts, parts: NamedAuditParts): CopyAudit {
  const rows = createNamedAudit(auditedAgentKeys(thoughts), parts)
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

function auditedAgentKeys(thoughts: KeyedThoughts): NamedTable<AgentKeyRow> {
  return {
    what: 'agent key',
    nameOf: ({ agent_id: name }) => name,
    after: thoughts.keysAfter,
    has: (name) => thoughts.keyOf(name) !== undefined,
    subject: ({ kind, agent_id: name, public_key: key }) =>
      kind === THOUGHT_EVENT && key !== undefined && typeof name === 'string' ? name : undefined,
    tell: (before, { seq }) => before ?? seq,
    wrong: ({ public_key, log_index }, entry) => [
      ...(public_key === entry['public_key'] ? [] : ['public_key']),
      ...(log_index === entry.seq ? [] : ['log_index']),
    ],
  }
}
