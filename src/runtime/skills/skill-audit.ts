/**
 * Skill audit: what the ledger says of a skill as it was last seen, and how its row has to look. Who edits a skill and
 * its row gives agents other instructions, and nobody is told that they changed.
 *
 *   skill.change: added, changed ──▶ where it is, and which bytes     removed ──▶ no row
 *
 * Pure: it reads through what it is given.
 */
import type { NamedTable } from '../named-audit.ts'
import { SKILL_CHANGE } from './registry.ts'
import type { SeenSkill, SkillStore } from './skill-store.ts'

export function auditedSkills(skills: Pick<SkillStore, 'after' | 'has'>): NamedTable<SeenSkill> {
  return {
    what: 'skill',
    nameOf: ({ name }) => name,
    after: skills.after,
    has: skills.has,
    subject: ({ kind, name }) => (kind === SKILL_CHANGE && typeof name === 'string' ? name : undefined),
    tell: (_, { seq, change }) => (change === 'removed' ? undefined : seq),
    wrong: (row, entry) => [
      ...(row.source_path === entry['source_path'] ? [] : ['source_path']),
      ...(row.content_hash === entry['content_hash'] ? [] : ['content_hash']),
      ...(row.loaded_at === entry.at ? [] : ['loaded_at']),
      ...(row.log_index === entry.seq ? [] : ['log_index']),
    ],
  }
}
