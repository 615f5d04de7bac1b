/**
 * Node key: the key of a data directory, made at the first start, and never where another one has signed.
 */
import { existsSync } from 'node:fs'
import type { DataDirectory } from '../config/data-directory.ts'
import { fail } from '../core/result.ts'
import type { Result } from '../core/result.ts'
import { keyFaultSentence, loadKey, loadOrCreateKey } from '../ledger/key-store.ts'
import type { NodeKey } from '../ledger/key-store.ts'

/** The fault is a sentence. */
export async function loadNodeKey({ nodeKey, lastSigned }: DataDirectory): Promise<Result<NodeKey, string>> {
  const key = existsSync(lastSigned) ? await loadKey(nodeKey) : await loadOrCreateKey(nodeKey)
  if (key.ok) return key
  if (key.fault.kind !== 'key-missing') return fail(keyFaultSentence(key.fault))
  return fail(
    `${nodeKey} is missing, though a ledger was signed with it (${lastSigned}). Put the key back from a backup, or begin anew in an empty data directory: a new key would make everything this node signed the work of a stranger.`,
  )
}
