/**
 * Registry: the skills as they are now, every change of them on record.
 *
 *   scan the folders ▸ compare with what was seen last ▸ one `skill.change` per difference, in one transaction
 */
import { fail, ok } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import type { StateMapReader } from '../../ledger/projection.ts'
import type { RuntimeRecordDependencies } from '../runtime-dependencies.ts'
import type { SkillWithSource, SkillScanner, SkillScanResult } from './skill-folder-store.ts'
import type { RuntimeState, SkillState } from '../runtime-state.ts'
import { SKILL_CHANGE_KIND } from './skill-document.ts'

export interface SkillRegistry {
  /** Scans, records changes, and returns what is on disk now. Writes nothing when nothing changed. */
  readonly refresh: () => Promise<KnownSkills>
  /** A skill as it is on disk now, if the ledger recorded exactly this. Records nothing. */
  readonly recorded: (name: string) => Promise<Result<RecordedSkill, RecordedSkillFault>>
}

/** `unknown`: neither on disk nor recorded. `changed`: the files differ from what was recorded, or are missing. */
export type RecordedSkillFault = 'unknown' | 'changed'

export interface RecordedSkill extends SkillWithSource {
  readonly loaded_at: string
  readonly log_index: number
}

interface KnownSkills extends SkillScanResult {
  readonly skills: readonly RecordedSkill[]
}

export function createSkillRegistry(
  records: RuntimeRecordDependencies,
  scan: SkillScanner,
  { skills: seen }: Pick<RuntimeState, 'skills'>,
): SkillRegistry {
  return {
    refresh: async () => {
      const { skills, skipped } = await scan()
      if (differences(skills, seen).length > 0)
        await records.database.commit(() => recordChanges(records, skills, seen))
      const known = skills.flatMap((skill) => {
        const record = seen.get(skill.name)
        // Another scan may have found the file missing or changed meanwhile, so the skill is left out.
        return record === undefined || !isSame(skill, record)
          ? []
          : [{ ...skill, loaded_at: record.loadedAt, log_index: record.logIndex }]
      })
      return { skills: known, skipped }
    },

    recorded: async (name) => {
      const { skills } = await scan()
      const [found, record] = [skills.find((skill) => skill.name === name), seen.get(name)]
      if (found === undefined && record === undefined) return fail('unknown')
      if (found === undefined || record === undefined || !isSame(found, record)) return fail('changed')
      return ok({ ...found, loaded_at: record.loadedAt, log_index: record.logIndex })
    },
  }
}

interface Difference {
  readonly name: string
  readonly now: SkillWithSource | undefined
  readonly before: SkillState | undefined
}

/** Added and changed skills in order of their names, then removed ones. */
function differences(skills: readonly SkillWithSource[], seen: StateMapReader<SkillState>): readonly Difference[] {
  const present = new Set(skills.map(({ name }) => name))
  const changed = skills
    .map((now) => ({ name: now.name, now, before: seen.get(now.name) }))
    .filter(({ now, before }) => before === undefined || !isSame(now, before))
  const removed = [...seen.entries()].filter(([name]) => !present.has(name))
  return [...changed, ...removed.map(([name, before]) => ({ name, now: undefined, before }))]
}

function isSame(now: SkillWithSource, before: SkillState): boolean {
  return (
    before.contentHash === now.content_hash &&
    before.filesHash === now.files.filesHash &&
    before.sourcePath === now.source_path
  )
}

function recordChanges(
  { ledger }: RuntimeRecordDependencies,
  skills: readonly SkillWithSource[],
  seen: StateMapReader<SkillState>,
): void {
  // Compared again inside the transaction: of two scans at once, the second finds nothing left to record.
  for (const { name, now, before } of differences(skills, seen)) {
    ledger.appendIn({
      kind: SKILL_CHANGE_KIND,
      name,
      change: now === undefined ? 'removed' : before === undefined ? 'added' : 'changed',
      source_path: now?.source_path ?? before?.sourcePath,
      content_hash: now?.content_hash,
      files_hash: now?.files.filesHash,
      previous_hash: before?.contentHash,
    })
  }
}
