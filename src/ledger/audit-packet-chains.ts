/**
 * Audit packet chains: whether the steps of tasks and the thoughts in an audit packet are complete, as far as the entries
 * themselves show it.
 *
 *   task      version 1, 2, 3 …; previous_entry = number of the step before; from = status before
 *   thought   prev_hash = hash of the task's thought before it; 64 zeros for the first
 *   session   root of its seal = RFC 6962 tree over the hashes of its thoughts, record_count of them
 */
import { fromHex, toHex } from '../core/bytes.ts'
import type { Json } from '../core/json.ts'
import type { LedgerEntry } from './entry.ts'
import type { EntryWithVerifiedBody, AuditPacketScope } from './audit-packet-summary.ts'
import { createEmptyFrontier, extendFrontier, computeFrontierRoot, computeLeafHash } from './tree.ts'

const NO_HASH = '0'.repeat(64)

export function findBrokenChains(opened: readonly EntryWithVerifiedBody[], scope: AuditPacketScope): readonly string[] {
  const thoughts = opened.filter(({ entry }) => entry.kind === 'thought')
  const { task_id: task, session_id: session } = scope
  return [
    ...(scope.since === undefined ? stepFaults(opened.map(({ entry }) => entry)) : []),
    ...(task === undefined ? [] : chainFaults(thoughts.filter(({ entry }) => entry['task_id'] === task))),
    ...(session === undefined ? [] : sealFaults(opened, thoughts, session)),
  ]
}

/** A packet about a task or a session has every step of each task that it has steps of. */
function stepFaults(entries: readonly LedgerEntry[]): readonly string[] {
  const tasks = new Map<unknown, { readonly version: number; readonly seq: number; readonly status: Json }>()
  return entries.flatMap((entry) => {
    if (!entry.kind.startsWith('task.')) return []
    const id = entry['task_id']
    const before = tasks.get(id)
    const isFirst = entry.kind === 'task.created'
    const status = (isFirst ? entry['status'] : (entry['to'] ?? before?.status)) ?? null
    tasks.set(id, { version: Number(entry['version']), seq: entry.seq, status })
    const follows = isFirst
      ? before === undefined && entry['version'] === 1
      : before !== undefined &&
        entry['version'] === before.version + 1 &&
        entry['previous_entry'] === before.seq &&
        (entry['from'] === undefined || entry['from'] === before.status)
    return follows ? [] : [`Step ${entry.seq} does not follow the one of its task before it: some are missing.`]
  })
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
