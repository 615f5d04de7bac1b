/**
 * Prepared statement: statements that are prepared once per database and SQL text, because preparing takes longer than
 * running most of them. The texts are our own and few.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'

const statements = new WeakMap<DatabaseSync, Map<string, StatementSync>>()

export function prepareCachedStatement(sql: DatabaseSync, text: string): StatementSync {
  const known = statements.get(sql) ?? new Map<string, StatementSync>()
  statements.set(sql, known)
  const statement = known.get(text) ?? sql.prepare(text)
  known.set(text, statement)
  return statement
}
