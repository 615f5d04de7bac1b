/**
 * Thought recording: checks a thought and adds it to the trail, in two steps, so that other tools can record one in the
 * transaction of their own change.
 *
 * Reads and writes through its stores.
 */
import { randomUUID } from 'node:crypto'
import type { Call } from '../../bus/call.ts'
import { toHex } from '../../core/bytes.ts'
import type { Fault } from '../../core/fault.ts'
import { fail } from '../../core/result.ts'
import type { Result } from '../../core/result.ts'
import { formatIsoTime } from '../../toolbox/iso-time.ts'
import { readCallOrigin } from '../runtime-dependencies.ts'
import type { RuntimeRecordDependencies } from '../runtime-dependencies.ts'
import { createRuntimeFault } from '../faults.ts'
import type { AuditSessionReader } from './audit-session-reader-store.ts'
import type { RuntimeState } from '../runtime-state.ts'
import { explainThoughtSignatureRefusal } from './thought-authorship.ts'
import { resolveAuditSessionId } from './audit-session-id.ts'
import { createThoughtEvent } from './thought-entry.ts'
import type { NewThought } from './thought-entry.ts'
import { THOUGHT_CHAIN_GENESIS_HASH, computeThoughtHash } from './thought.ts'
import type { ThoughtSignature, ThoughtToSign, Thought } from './thought.ts'
import type { ThoughtRow, ThoughtReader } from './thought-reader-store.ts'
import type { TrailLedgerReader } from './trail-verification.ts'

export interface ThoughtTrailStores {
  readonly state: RuntimeState
  readonly thoughts: ThoughtReader
  readonly sessions: AuditSessionReader
  readonly leaves: TrailLedgerReader
}

export interface ThoughtToRecord extends ThoughtToSign {
  readonly session_id?: string
  readonly signature?: ThoughtSignature
  readonly call: Call
}

/** The session that the thought belongs to, or `null` for none; or why the thought is refused. */
export function checkThoughtAndResolveSession(
  { state }: ThoughtTrailStores,
  recording: ThoughtToRecord,
): Result<string | null, Fault> {
  const { task_id: taskId, session_id: sessionId, signature } = recording
  if (!state.tasks.has(taskId)) return fail(createUnknownTaskFault(taskId))
  const session = resolveAuditSessionId(state, taskId, sessionId)
  if (!session.ok) return session
  const refused = explainThoughtSignatureRefusal(state, recording, signature)
  return refused === undefined ? session : fail(refused)
}

/** Call in the transaction in which the thought was checked. */
export function appendThought(
  records: RuntimeRecordDependencies,
  { state }: ThoughtTrailStores,
  { type, task_id, agent_id, content, signature, call }: ThoughtToRecord,
  sessionId: string | null,
): Thought {
  const before = state.chains.get(task_id)
  const now = formatIsoTime(records.clock.now())
  const chained = {
    id: randomUUID(),
    type,
    task_id,
    content,
    // The sequence orders records; a clock that went back must not seem to contradict it.
    timestamp: before !== undefined && before.timestamp > now ? before.timestamp : now,
    prev_hash: before?.hash ?? THOUGHT_CHAIN_GENESIS_HASH,
  }
  const { content: _, ...visible } = chained
  const { principal, client = null, trace_id: traceId } = readCallOrigin(call)
  const thought: NewThought = {
    ...visible,
    agent_id,
    session_id: sessionId,
    hash: computeThoughtHash(chained),
    principal,
    client,
    public_key: signature?.public_key ?? null,
    signature: signature?.value ?? null,
  }
  const { seq, leafHash } = records.ledger.appendIn(createThoughtEvent(thought, traceId), { content })
  return buildThoughtFromRow({ ...thought, log_index: seq, leaf_hash: toHex(leafHash) }, content)
}

/** `content` is `undefined` once it was erased. */
export function buildThoughtFromRow(row: Omit<ThoughtRow, 'seq'>, content: string | undefined): Thought {
  const { id, type, task_id, agent_id, timestamp, prev_hash, hash, session_id, log_index, leaf_hash } = row
  return {
    id,
    type,
    task_id,
    agent_id,
    content: content ?? null,
    timestamp,
    prev_hash,
    hash,
    session_id,
    recorded_by: row.principal,
    client: row.client,
    signed: row.signature !== null,
    log_index,
    leaf_hash,
  }
}

/** A task that does not exist here cannot be worked on, even if another system has it. */
export function createUnknownTaskFault(taskId: string): Fault {
  return createRuntimeFault('ERR_NOT_FOUND', `There is no task ${taskId}; task_create puts one on record.`, {
    task_id: taskId,
  })
}
