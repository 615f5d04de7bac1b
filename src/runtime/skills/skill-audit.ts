/**
 * Skill audit: what the ledger says of a skill as it was last seen, and how its row has to look. Who edits a skill and
 * its row gives agents other instructions, and nobody is told that they changed.
 *
 *   skill.change: added, changed ──▶ where it is, and which bytes     removed ──▶ no row
 *
 * Pure: it reads through what it is given.
 */
import { wrongOf } from '../../ledger/row-audit.ts'
import type { AuditedTable, Rows, Told } from '../../ledger/row-audit.ts'
import { SKILL_CHANGE } from './registry.ts'
import type { SeenSkill, SkillStore } from './skill-store.ts'

export const auditedSkills: AuditedTable<Told, SeenSkill> = {
  what: 'skill',
  subject: ({ kind, name }) => (kind === SKILL_CHANGE && typeof name === 'string' ? name : undefined),
  tell: (_, { seq, change }) => (change === 'removed' ? undefined : { seq }),
  compare: (row, { seq }, said) => {
    const seen = said.entry(seq)
    if (seen === undefined) return { wrong: [] }
    return {
      wrong: wrongOf({
        source_path: row.source_path === seen['source_path'],
        content_hash: row.content_hash === seen['content_hash'],
        loaded_at: row.loaded_at === seen.at,
        log_index: row.log_index === seq,
      }),
    }
  },
}

export function skillRows(skills: Pick<SkillStore, 'after' | 'has'>): Rows<SeenSkill> {
  return { idOf: ({ name }) => name, after: (last, limit) => skills.after(last?.name, limit), has: skills.has }
}
