/**
 * Session tree: the root that seals a session, RFC 6962 over its record hashes in the order they were recorded.
 *
 *   leaf = SHA-256(0x00 ‖ the 32 bytes of a record's hash)      node = SHA-256(0x01 ‖ left ‖ right)
 *
 * Another order, another record, or an interior node in place of a record gives another root.
 */
import { fromHex, toHex } from '../../core/bytes.ts'
import { createEmptyFrontier, extendFrontier, computeFrontierRoot, computeLeafHash } from '../../ledger/tree.ts'

/** The root in hex. An empty list has RFC 6962's empty root, which merkle_finalize never seals (ERR_NO_RECORDS). */
export function computeAuditSessionRoot(recordHashes: readonly string[]): string {
  const frontier = createEmptyFrontier()
  for (const recordHash of recordHashes) extendFrontier(frontier, computeLeafHash(fromHex(recordHash)))
  return toHex(computeFrontierRoot(frontier))
}
