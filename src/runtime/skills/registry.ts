/**
 * Registry: the skills as they are now, every change of them on record.
 *
 *   scan the folders ▸ compare with what was seen last ▸ one `skill.change` per difference, in one transaction
 *
 * Reads and writes through its stores.
 */
import type { StateReader } from '../../ledger/projection.ts'
import type { Records } from '../dependencies.ts'
import type { FoundSkill, ScanSkills, SkillFolders } from './skill-folder-store.ts'
import type { RuntimeState, SkillFacts } from '../runtime-state.ts'
import { SKILL_CHANGE } from './skill.ts'

export interface SkillRegistry {
  /** Scans, records what changed, and answers with what is on disk now. Nothing is written when nothing changed. */
  readonly refresh: () => Promise<KnownSkills>
}

interface KnownSkills extends SkillFolders {
  readonly skills: readonly (FoundSkill & { readonly loaded_at: string; readonly log_index: number })[]
}

export function createSkillRegistry(
  records: Records,
  scan: ScanSkills,
  { skills: seen }: Pick<RuntimeState, 'skills'>,
): SkillRegistry {
  return {
    refresh: async () => {
      const { skills, skipped } = await scan()
      if (differences(skills, seen).length > 0)
        await records.database.commit(() => recordChanges(records, skills, seen))
      const known = skills.flatMap((skill) => {
        const record = seen.get(skill.name)
        // Absent only if another scan saw the file go between the two: then it is not there any more.
        return record === undefined ? [] : [{ ...skill, loaded_at: record.loadedAt, log_index: record.logIndex }]
      })
      return { skills: known, skipped }
    },
  }
}

interface Difference {
  readonly name: string
  readonly now: FoundSkill | undefined
  readonly before: SkillFacts | undefined
}

/** Added and changed ones in order of their names, then removed ones. */
function differences(skills: readonly FoundSkill[], seen: StateReader<SkillFacts>): readonly Difference[] {
  const present = new Set(skills.map(({ name }) => name))
  const changed = skills
    .map((now) => ({ name: now.name, now, before: seen.get(now.name) }))
    .filter(({ now, before }) => before?.contentHash !== now.content_hash || before.sourcePath !== now.source_path)
  const removed = [...seen.entries()].filter(([name]) => !present.has(name))
  return [...changed, ...removed.map(([name, before]) => ({ name, now: undefined, before }))]
}

function recordChanges({ ledger }: Records, skills: readonly FoundSkill[], seen: StateReader<SkillFacts>): void {
  // Compared again inside the transaction: of two scans at once, the second finds nothing left to record.
  for (const { name, now, before } of differences(skills, seen)) {
    ledger.appendIn({
      kind: SKILL_CHANGE,
      name,
      change: now === undefined ? 'removed' : before === undefined ? 'added' : 'changed',
      source_path: now?.source_path ?? before?.sourcePath,
      content_hash: now?.content_hash,
      previous_hash: before?.contentHash,
    })
  }
}
