/**
 * Prepared statement store: statements prepared once per text, and conditions made of the filters that were given, so
 * that SQLite sees which of them an index serves.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'

export type StatementPreparer = (text: string) => StatementSync

/** The texts are our own and few: at most every combination of a list's filters. */
export function createStatementPreparer(sql: DatabaseSync): StatementPreparer {
  const known = new Map<string, StatementSync>()
  return (text) => {
    // Preparing takes longer than running most of these queries.
    const statement = known.get(text) ?? sql.prepare(text)
    known.set(text, statement)
    return statement
  }
}

export interface SqlWhereCondition {
  readonly where: string
  readonly parameters: Readonly<Record<string, string>>
}

/** `tests` has one SQL test per filter, with the filter's name as its parameter. */
export function createSqlFilterCondition<Name extends string>(
  filter: Readonly<Partial<Record<Name, string>>>,
  tests: Readonly<Record<Name, string>>,
): SqlWhereCondition {
  const parameters: Record<string, string> = {}
  const where: string[] = []
  // Iterates over the tests rather than the filter: a key of the filter without a test must not get into the statement.
  for (const name of Object.keys(tests) as Name[]) {
    const value = filter[name]
    if (value === undefined) continue
    where.push(tests[name])
    parameters[name] = value
  }
  return { where: where.length === 0 ? 'TRUE' : where.join(' AND '), parameters }
}
