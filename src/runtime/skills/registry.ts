/**
 * Registry: the skills as they are now, every change of them on record.
 *
 *   scan the folders ▸ compare with what was seen last ▸ one `skill.change` per difference, in one transaction
 *
 * Reads and writes through its stores.
 */
import type { Records } from '../dependencies.ts'
import type { FoundSkill, ScanSkills, SkillFolders } from './skill-folder-store.ts'
import type { SeenSkill, SkillStore } from './skill-store.ts'

export const SKILL_CHANGE = 'skill.change'

export interface SkillRegistry {
  /** Scans, records what changed, and answers with what is on disk now. Nothing is written when nothing changed. */
  readonly refresh: () => Promise<KnownSkills>
}

interface KnownSkills extends SkillFolders {
  readonly skills: readonly (FoundSkill & Pick<SeenSkill, 'loaded_at' | 'log_index'>)[]
}

export function createSkillRegistry(records: Records, scan: ScanSkills, store: SkillStore): SkillRegistry {
  return {
    refresh: async () => {
      const { skills, skipped } = await scan()
      if (differences(skills, store.all()).length > 0)
        await records.database.commit(() => recordChanges(records, skills, store))
      const seen = store.all()
      const known = skills.flatMap((skill) => {
        const record = seen.get(skill.name)
        // Absent only if another scan saw the file go between the two: then it is not there any more.
        return record === undefined ? [] : [{ ...skill, loaded_at: record.loaded_at, log_index: record.log_index }]
      })
      return { skills: known, skipped }
    },
  }
}

interface Difference {
  readonly name: string
  readonly now: FoundSkill | undefined
  readonly before: SeenSkill | undefined
}

/** Added and changed ones in order of their names, then removed ones. */
function differences(skills: readonly FoundSkill[], seen: ReadonlyMap<string, SeenSkill>): readonly Difference[] {
  const present = new Set(skills.map(({ name }) => name))
  const changed = skills
    .map((now) => ({ name: now.name, now, before: seen.get(now.name) }))
    .filter(({ now, before }) => before?.content_hash !== now.content_hash || before.source_path !== now.source_path)
  const removed = [...seen.values()].filter(({ name }) => !present.has(name))
  return [...changed, ...removed.map((before) => ({ name: before.name, now: undefined, before }))]
}

function recordChanges({ ledger }: Records, skills: readonly FoundSkill[], store: SkillStore): void {
  // Compared again inside the transaction: of two scans at once, the second finds nothing left to record.
  for (const { name, now, before } of differences(skills, store.all())) {
    const { seq, at } = ledger.appendIn({
      kind: SKILL_CHANGE,
      name,
      change: now === undefined ? 'removed' : before === undefined ? 'added' : 'changed',
      source_path: (now ?? before)?.source_path,
      content_hash: now?.content_hash,
      previous_hash: before?.content_hash,
    })
    if (now === undefined) store.remove(name)
    else {
      const { source_path, content_hash } = now
      store.put({ name, source_path, content_hash, loaded_at: at, log_index: seq })
    }
  }
}
