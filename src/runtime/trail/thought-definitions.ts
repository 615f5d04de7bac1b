/**
 * Thought definitions: the three tools of the decision trail as values.
 */
import { z } from 'zod'
import { assessRecordCall, defineRuntimeTool, idempotencyKeyArgument } from '../runtime-tool.ts'
import { cursorArgument, limitArgument } from '../paging.ts'
import { createIdArgument, MAX_THOUGHT_LENGTH, createTextArgument } from '../text-arguments.ts'
import { signatureArgument, THOUGHT_TYPES, thoughtOutputSchema } from './thought.ts'

const authorArguments = {
  agent_id: createIdArgument().describe('Who thinks it. Only a claim unless it is signed.'),
  // The message is part of the contract.
  content: createTextArgument(MAX_THOUGHT_LENGTH, 'thought content must be non-empty'),
  session_id: createIdArgument().exactOptional().describe('From audit_session_start.'),
  signature: signatureArgument.exactOptional().describe('Proves that `agent_id` wrote it.'),
}

/** A reflection that another tool records in the same call. */
export const reflectionToRecordArgument = z.strictObject(authorArguments)

export const thoughtRecordTool = defineRuntimeTool({
  name: 'thought_record',
  title: 'Record a thought',
  description:
    "Puts a plan, an analysis, a decision or a reflection about a task on record, for good: it is chained to the task's earlier records and entered into the ledger. Without `session_id` it joins the open session of the task; where there is none, `unsealed` says so. The task must exist. Record a `reflection` while a task is in VERIFY before you set it to DONE.",
  input: z.strictObject({
    type: z.enum(THOUGHT_TYPES),
    task_id: createIdArgument(),
    ...authorArguments,
    idempotency_key: idempotencyKeyArgument,
  }),
  output: thoughtOutputSchema.extend({
    unsealed: z
      .string()
      .exactOptional()
      .describe('Why no seal will cover this record, and how later ones get into a session.'),
  }),
  effect: 'records',
  assess: assessRecordCall,
  // Stored once, beside the ledger, where it can be erased, and not a second time in the audit of the call.
  secrets: ['content'],
})

/** In the one spelling that times are stored in, so that text compares as time does. */
const timeArgument = z.iso.datetime().transform((time) => new Date(time).toISOString())

export const thoughtRecordListTool = defineRuntimeTool({
  name: 'thought_record_list',
  title: 'Read the decision trail',
  description:
    'Lists recorded thoughts in the order they were recorded, of one task, session, agent or type, or all of them. Pages are cut by `limit` and by size; go on with `cursor`.',
  input: z.strictObject({
    task_id: createIdArgument().exactOptional(),
    session_id: createIdArgument().exactOptional(),
    agent_id: createIdArgument().exactOptional(),
    type: z.enum(THOUGHT_TYPES).exactOptional(),
    since: timeArgument.exactOptional().describe('Recorded at this time or later; ISO 8601, UTC.'),
    until: timeArgument.exactOptional().describe('Recorded before this time; ISO 8601, UTC.'),
    limit: limitArgument,
    cursor: cursorArgument,
  }),
  output: z.object({ records: z.array(thoughtOutputSchema), next_cursor: z.string().exactOptional() }),
  effect: 'reads',
})

/**
 * `valid`, the two counts and `first_broken_at` are spec 5's; missing or erased records can only be found with a
 * ledger.
 */
const tally = {
  valid: z.boolean(),
  broken_count: z.int(),
  record_count: z.int(),
  first_broken_at: z.string().exactOptional().describe('Id of the first record that is broken or missing.'),
  missing_count: z.int().describe('Records that the ledger has and the trail lacks: somebody deleted them.'),
  erased_count: z
    .int()
    .describe('Records, tasks and sessions whose words were erased on request; their hashes still hold.'),
}

export const auditVerifyChainTool = defineRuntimeTool({
  name: 'audit_verify_chain',
  title: 'Verify the decision trail',
  description:
    'Checks every recorded thought of one task, or of all: that its hash is right, that it continues the one before, and that the ledger says the same of it. Finds edited, reordered, added and deleted records, whole chains included, and tasks and audit sessions that do not say what the ledger says of them. Changes nothing.',
  input: z.strictObject({ task_id: createIdArgument().exactOptional() }),
  output: z.object({
    ...tally,
    // Only without `task_id`. Each task has a chain of its own; verified as one chain, all of them would seem broken.
    by_task: z.array(z.object({ task_id: z.string(), ...tally })).exactOptional(),
    by_task_omitted: z.int().exactOptional().describe('Further tasks, not listed.'),
    broken_sessions: z
      .array(z.string())
      .describe('Sessions that were added or dropped, or whose intent, start or seal was changed.'),
    broken_tasks: z.array(z.string()).describe('Tasks that were added, dropped or changed past the tools.'),
    problems: z.array(z.string()).describe('What is wrong with these sessions and tasks, in sentences.'),
    findings: z.array(z.object({ id: z.string(), task_id: z.string(), log_index: z.int(), flaw: z.string() })),
    log_size: z.int().describe('Ledger entries that were walked.'),
  }),
  effect: 'reads',
  // It reads the whole ledger, a piece at a time.
  timeoutSeconds: 600,
})
