/**
 * SQL filter condition: a condition made of the filters that were given, so that SQLite sees which of them an index
 * serves.
 *
 * Pure.
 */
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
