/**
 * Audit packet thoughts: whether the thoughts in an audit packet are complete for a task or session, and match their
 * hashes.
 *
 *   prev_hash of a thought = hash of the task's thought before it; 64 zeros for the first
 *   root of a sealed session = RFC 6962 tree over the hashes of its thoughts, record_count of them
 */
import { hash } from 'node:crypto'
import { fromHex, toHex } from '../core/bytes.ts'
import { canonicalJson, isJsonObject } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import type { LedgerEntry } from './entry.ts'
import type { EntryWithVerifiedBody, AuditPacketScope } from './audit-packet-summary.ts'
import { createEmptyFrontier, extendFrontier, computeFrontierRoot, computeLeafHash } from './tree.ts'

const NO_HASH = '0'.repeat(64)
const HASHED_FIELDS = ['id', 'type', 'task_id', 'timestamp', 'prev_hash'] as const

export function findThoughtChainFaults(
  opened: readonly EntryWithVerifiedBody[],
  scope: AuditPacketScope,
): readonly string[] {
  const thoughts = opened.filter(({ entry }) => entry.kind === 'thought')
  const { task_id: task, session_id: session } = scope
  return [
    ...thoughts.flatMap(({ entry, body }) => hashFaults(entry, body)),
    ...(task === undefined ? [] : chainFaults(thoughts.filter(({ entry }) => entry['task_id'] === task))),
    ...(session === undefined ? [] : sealFaults(opened, thoughts, session)),
  ]
}

function hashFaults(entry: LedgerEntry, body: Json | undefined): readonly string[] {
  const content = isJsonObject(body) ? body['content'] : undefined
  if (content === undefined) return []
  const fields = Object.fromEntries(HASHED_FIELDS.map((field) => [field, entry[field] ?? null]))
  const isSame = hash('sha256', canonicalJson({ ...fields, content })) === entry['hash']
  return isSame ? [] : [`The hash of thought ${entry.seq} is not that of its fields.`]
}

function chainFaults(thoughts: readonly EntryWithVerifiedBody[]): readonly string[] {
  let before: Json = NO_HASH
  return thoughts.flatMap(({ entry }) => {
    const follows = entry['prev_hash'] === before
    before = entry['hash'] ?? NO_HASH
    return follows ? [] : [`Thought ${entry.seq} does not follow the one before it: some are missing.`]
  })
}

function sealFaults(
  opened: readonly EntryWithVerifiedBody[],
  thoughts: readonly EntryWithVerifiedBody[],
  session: string,
): readonly string[] {
  const seal = opened.find(({ entry }) => entry.kind === 'session.final' && entry['session_id'] === session)?.entry
  if (seal === undefined) return []
  const hashes = thoughts.filter(({ entry }) => entry['session_id'] === session).map(({ entry }) => entry['hash'])
  const isSealed =
    hashes.every((one) => typeof one === 'string' && /^[0-9a-f]{64}$/.test(one)) &&
    seal['record_count'] === hashes.length &&
    seal['root'] === treeRoot(hashes.map(String))
  return isSealed ? [] : [`The records of session ${session} are not those that it was sealed with: some are missing.`]
}

function treeRoot(hashes: readonly string[]): string {
  const frontier = createEmptyFrontier()
  for (const one of hashes) extendFrontier(frontier, computeLeafHash(fromHex(one)))
  return toHex(computeFrontierRoot(frontier))
}
