/**
 * Mesh fact store: values that the mesh database has one of each: the member list and its seal, how far the sequence of
 * manifests is reserved, where this node listens.
 */
import type { DatabaseSync } from 'node:sqlite'

export function readMeshFact(sql: DatabaseSync, name: string): string | undefined {
  const row = sql.prepare('SELECT value FROM fact WHERE name = ?').get(name)
  return row === undefined ? undefined : String(row['value'])
}

export function writeMeshFact(sql: DatabaseSync, name: string, value: string): void {
  sql.prepare('INSERT OR REPLACE INTO fact VALUES (?, ?)').run(name, value)
}
