/** Audit session definitions: the three tools of the proof store, and the list of sessions. */
import { z } from 'zod'
import { assessRecordCall, defineRuntimeTool, idempotencyKeyArgument } from '../runtime-tool.ts'
import { THOUGHT_TYPES } from '../trail/thought.ts'
import { cursorArgument, limitArgument } from '../paging.ts'
import { createIdArgument, MAX_REASON_LENGTH, createTextArgument } from '../text-arguments.ts'

export const auditSessionStartTool = defineRuntimeTool({
  name: 'audit_session_start',
  title: 'Start an audit session',
  description:
    'Opens a session that gathers the thoughts recorded for one undertaking, so that merkle_finalize can seal them together. With `task_id`, thoughts about that task join it by themselves. The server mints the id; give it to thought_record. A session that turned out empty is closed with merkle_finalize and `close_empty`.',
  input: z.strictObject({
    intent: createTextArgument(MAX_REASON_LENGTH).describe('What the session is for.'),
    task_id: createIdArgument().exactOptional(),
    // An argument of spec 5's tool, so the schema accepts it and the handler refuses it with a reason.
    session_id: createIdArgument().exactOptional().describe('Refused: ids are minted by the server.'),
    idempotency_key: idempotencyKeyArgument,
  }),
  output: z.object({
    session_id: z.string(),
    intent: z.string(),
    task_id: z.string().nullable(),
    started_at: z.string(),
    log_index: z.int(),
  }),
  effect: 'records',
  assess: assessRecordCall,
})

/** Members of the answers of merkle_finalize and merkle_root; `timestamp` is spec 5's name for `finalized_at`. */
const sealed = {
  session_id: z.string(),
  root: z.string().describe('RFC 6962 root over the record hashes in order, hex.'),
  record_count: z.int(),
  timestamp: z.string().describe('When it was finalized.'),
  finalized_at: z.string(),
  first_index: z.int().describe('Ledger entry of the first record; of the start, where there is no record.'),
  last_index: z.int().describe('Ledger entry of the last record; of the start, where there is no record.'),
  log_index: z.int().describe('Ledger entry that seals the session.'),
  leaf_hash: z.string(),
}

const leftOut = z.object({
  id: z.string(),
  task_id: z.string(),
  type: z.enum(THOUGHT_TYPES),
  agent_id: z.string(),
  timestamp: z.string(),
  log_index: z.int(),
})

export const merkleFinalizeTool = defineRuntimeTool({
  name: 'merkle_finalize',
  title: 'Seal an audit session',
  description:
    'Verifies the records of a session against their chain and the ledger, closes the session for good and enters its Merkle root into the ledger. Returns the root, a signed checkpoint and a proof that anybody can check offline. Record your last reflection first: afterwards the session takes no more. `left_out` names records about the same tasks that are in no session and that no seal covers. With `dry_run` it verifies and tells all this, and seals nothing.',
  input: z.strictObject({
    session_id: createIdArgument(),
    dry_run: z.boolean().default(false),
    close_empty: z
      .boolean()
      .default(false)
      .describe('Close a session without records, too, instead of refusing it with ERR_NO_RECORDS.'),
    idempotency_key: idempotencyKeyArgument,
  }),
  output: z.object({
    ...sealed,
    // Absent from a dry run, which appends no entry.
    timestamp: sealed.timestamp.exactOptional(),
    finalized_at: sealed.finalized_at.exactOptional(),
    log_index: sealed.log_index.exactOptional(),
    leaf_hash: sealed.leaf_hash.exactOptional(),
    dry_run: z.literal(true).exactOptional().describe('Nothing was sealed.'),
    left_out: z.array(leftOut).describe('The first of them.'),
    left_out_count: z.int(),
    checkpoint: z.string().exactOptional().describe('C2SP signed note of the ledger that holds the seal.'),
    proof: z.string().exactOptional().describe('C2SP tlog-proof of the sealing entry.'),
    unproven: z
      .string()
      .exactOptional()
      .describe('Why there is no checkpoint yet; the session is sealed all the same.'),
  }),
  effect: 'records',
  assess: (input) => (input.dry_run ? { effect: 'reads', reasons: [] } : assessRecordCall(input)),
  // Sealing reads every entry since the session began, which must be possible for a long session.
  timeoutSeconds: 600,
})

export const merkleRootTool = defineRuntimeTool({
  name: 'merkle_root',
  title: 'Read the root of a sealed session',
  description: 'Returns the Merkle root with which a finalized session was sealed, and where the ledger holds it.',
  input: z.strictObject({ session_id: createIdArgument() }),
  output: z.object(sealed),
  effect: 'reads',
})

/** Not in spec 5, where sessions are only found by their ids. */
export const auditSessionListTool = defineRuntimeTool({
  name: 'audit_session_list',
  title: 'Read the audit sessions',
  description:
    'Lists audit sessions, newest first: what each is for, who began it, how many thoughts it has gathered, and the Merkle root it was sealed with. With `task_id`, those that were begun for that task or hold thoughts about it.',
  input: z.strictObject({ task_id: createIdArgument().exactOptional(), limit: limitArgument, cursor: cursorArgument }),
  output: z.object({
    sessions: z.array(
      z.object({
        session_id: z.string(),
        intent: z.string(),
        task_id: z.string().nullable(),
        started_by: z.string().describe('Whose credential began it.'),
        client: z.string().nullable().describe('What that program called itself; nobody proves it.'),
        started_at: z.string(),
        record_count: z.int(),
        log_index: z.int().describe('Ledger entry of its start.'),
        state: z.enum(['open', 'sealed', 'broken']).describe('`broken`: the ledger does not say what the tables say.'),
        finalized_at: z.string().nullable(),
        root: z.string().nullable().describe('hex; only of a sealed session.'),
        seal_index: z.int().nullable().describe('Ledger entry that seals it.'),
      }),
    ),
    next_cursor: z.string().exactOptional(),
  }),
  effect: 'reads',
})
