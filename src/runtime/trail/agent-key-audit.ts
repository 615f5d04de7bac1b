/**
 * Agent key audit: what the ledger says of an agent's key, and how its row has to look. Who takes a key away, or puts
 * his own in its place, writes under that agent's name.
 *
 *   thought, signed ──the first of each agent──▶ its key, for good
 *
 * Pure: it reads through what it is given.
 */
import type { NamedTable } from '../named-audit.ts'
import { THOUGHT_EVENT } from './leaf.ts'
import type { AgentKeyRow, ThoughtStore } from './thought-store.ts'

export function auditedAgentKeys(thoughts: Pick<ThoughtStore, 'keyOf' | 'keysAfter'>): NamedTable<AgentKeyRow> {
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
