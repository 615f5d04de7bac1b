/**
 * Query store: statements prepared once per text, and conditions made of the filters that were given, so that SQLite
 * sees which of them an index serves.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'

export type Prepare = (text: string) => StatementSync

/** The texts are ours and few: every combination of a list's filters at most. */
export function createPrepare(sql: DatabaseSync): Prepare {
  const known = new Map<string, StatementSync>()
  return (text) => {
    // Preparing costs more than most of these queries take to run.
    const statement = known.get(text) ?? sql.prepare(text)
    known.set(text, statement)
    return statement
  }
}

export interface SqlCondition {
  readonly where: string
  readonly parameters: Readonly<Record<string, string>>
}

/** `tests` has one SQL test per filter, with the filter's name as its parameter. */
export function createFilterCondition<Name extends string>(
  filter: Readonly<Partial<Record<Name, string>>>,
  tests: Readonly<Record<Name, string>>,
): SqlCondition {
  const parameters: Record<string, string> = {}
  const where: string[] = []
  // By the tests, not by the filter: a key of the filter that has no test must not get into the statement.
  for (const name of Object.keys(tests) as Name[]) {
    const value = filter[name]
    if (value === undefined) continue
    where.push(tests[name])
    parameters[name] = value
  }
  return { where: where.length === 0 ? 'TRUE' : where.join(' AND '), parameters }
}
