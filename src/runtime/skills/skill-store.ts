/**
 * Skill store: which skills were seen last, so that a change is noticed even across a restart.
 *
 * Does I/O.
 */
import type { DatabaseSync } from 'node:sqlite'

export interface SeenSkill {
  readonly name: string
  readonly source_path: string
  readonly content_hash: string
  readonly loaded_at: string
  /** Ledger entry of the change that brought it. */
  readonly log_index: number
}

export interface SkillStore {
  readonly all: () => ReadonlyMap<string, SeenSkill>
  /** In the order of their names. */
  readonly after: (name: string | undefined, limit: number) => readonly SeenSkill[]
  readonly has: (name: string) => boolean
  readonly put: (skill: SeenSkill) => void
  readonly remove: (name: string) => void
}

export function createSkillStore(sql: DatabaseSync): SkillStore {
  const all = sql.prepare('SELECT * FROM skills ORDER BY name')
  const after = sql.prepare('SELECT * FROM skills WHERE ?1 IS NULL OR name > ?1 ORDER BY name LIMIT ?2')
  const has = sql.prepare('SELECT 1 FROM skills WHERE name = ?')
  const put = sql.prepare(`
    INSERT INTO skills VALUES (:name, :source_path, :content_hash, :loaded_at, :log_index)
    ON CONFLICT (name) DO UPDATE SET source_path = excluded.source_path, content_hash = excluded.content_hash,
      loaded_at = excluded.loaded_at, log_index = excluded.log_index`)
  const remove = sql.prepare('DELETE FROM skills WHERE name = ?')
  return {
    all: () => new Map((all.all() as unknown as SeenSkill[]).map((skill) => [skill.name, skill])),
    after: (name, limit) => after.all(name ?? null, limit) as unknown as SeenSkill[],
    has: (name) => has.get(name) !== undefined,
    put: (skill) => void put.run({ ...skill }),
    remove: (name) => void remove.run(name),
  }
}
