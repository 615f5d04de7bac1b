/**
 * Ledger attack: what somebody with the database file, and without the key, can do to cover their traces.
 *
 * Does I/O.
 */
import type { DatabaseSync } from 'node:sqlite'
import { Edge } from '../src/ledger/edge.ts'
import { TILE_BYTES, TILE_HEIGHT, tileNode } from '../src/ledger/tile.ts'
import { leafHash } from '../src/ledger/tree.ts'

/** Makes every tile agree with the entries as they are now. */
export function rehash(sql: DatabaseSync): void {
  sql.exec('DELETE FROM ledger_tile')
  const put = sql.prepare('INSERT INTO ledger_tile VALUES (?, ?, ?, ?)')
  const edge = new Edge(({ level, index, nodes }) =>
    put.run(level, index, tileNode(nodes, TILE_HEIGHT, 0), nodes.subarray(0, TILE_BYTES)),
  )
  for (const row of sql.prepare('SELECT bytes FROM ledger_entry ORDER BY seq').all())
    edge.append(leafHash(row['bytes'] as Uint8Array))
}
