/**
 * Node key: the key of a data directory, created at the first start, and never in a data directory in which another key
 * has already signed.
 */
import { existsSync } from 'node:fs'
import type { DataDirectory } from '../config/data-directory.ts'
import { fail } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { formatKeyFault, loadExistingNodeKey, loadOrCreateNodeKey } from '../ledger/key-store.ts'
import type { NodeKey } from '../ledger/key-store.ts'
import { formatPinRemedies } from '../ledger/ledger-state.ts'
import type { LedgerPinFile } from '../ledger/ledger-pin-store.ts'

/** The fault is a sentence for a person. */
export async function loadNodeKey(
  { nodeKey, lastSigned }: DataDirectory,
  pin?: Pick<LedgerPinFile, 'path' | 'pin'>,
): Promise<Result<NodeKey, string>> {
  const isPinned = pin?.pin !== undefined
  const key =
    existsSync(lastSigned) || isPinned ? await loadExistingNodeKey(nodeKey) : await loadOrCreateNodeKey(nodeKey)
  if (key.ok) return key
  if (key.fault.kind !== 'key-missing') return fail(formatKeyFault(key.fault))
  if (isPinned)
    return fail(
      `${nodeKey} is missing, though a ledger was signed with it (${pin.path}). Restore the key and the ledger from a backup. ${formatPinRemedies(pin.path)}`,
    )
  return fail(
    `${nodeKey} is missing, though a ledger was signed with it (${lastSigned}). Restore the key from a backup, or begin anew in an empty data directory: a new key would make everything this node signed the work of a stranger.`,
  )
}
