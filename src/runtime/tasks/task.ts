/**
 * Task: one piece of work and the fields that a caller sees. The first ten are spec 5's; the others are additions.
 */
import { z } from 'zod'
import {
  createIdArgument,
  MAX_DESCRIPTION_LENGTH,
  MAX_REASON_LENGTH,
  MAX_TITLE_LENGTH,
  createTextArgument,
} from '../text-arguments.ts'
import { TASK_STATUSES } from './task-machine.ts'
import { TASK_PRIORITIES, normalisePriority } from './priority.ts'

/** More would be a project, not a task. The limit also bounds the search for cycles. */
const MAX_DEPENDENCIES = 64

export const taskOutputSchema = z.object({
  id: z.string(),
  project_id: z.string().nullable(),
  title: z.string(),
  description: z.string().nullable(),
  status: z.enum(TASK_STATUSES),
  priority: z.string().nullable(),
  assignee: z.string().nullable(),
  created_at: z.string(),
  updated_at: z.string(),
  // A member of spec 5 that no tool sets.
  deleted_at: z.string().nullable(),
  version: z.int().describe('Grows by one with every change; see `expected_version` of task_update.'),
  attempt: z.int().describe('1, and one more for every VERIFY that went back to GATHER.'),
  depends_on: z.array(z.string()).describe('Tasks that have to be DONE before this one is applied.'),
  blocked_by: z.array(z.string()).describe('Those of them that are not DONE.'),
  follows: z.string().nullable().describe('The task whose work this one takes up again.'),
  followed_by: z.array(z.string()).describe('Tasks that take up the work of this one.'),
  cancel_reason: z.string().nullable(),
  log_index: z.int().describe('Ledger entry of the last change.'),
})

export type Task = z.output<typeof taskOutputSchema>

/** One entry of a task's history. */
export const taskHistoryEntrySchema = z.object({
  change: z.enum(['created', 'changed', 'transition']),
  version: z.int(),
  from: z.enum(TASK_STATUSES).exactOptional(),
  to: z.enum(TASK_STATUSES).exactOptional(),
  reason: z.string().nullable().exactOptional().describe('null once it was erased.'),
  fields: z.array(z.string()).describe('Which fields it set.'),
  emptied: z.array(z.string()).exactOptional(),
  by: z.string().describe('Whose credential the call came with.'),
  client: z.string().nullable().describe('What the program called itself; nobody proves it.'),
  at: z.string(),
  log_index: z.int(),
})

/** Agents write `done` as often as `DONE`. */
export const statusArgument = z.preprocess(
  (value) => (typeof value === 'string' ? value.toUpperCase() : value),
  z.enum(TASK_STATUSES),
)

export const titleArgument = createTextArgument(MAX_TITLE_LENGTH).describe('What is to be done, in a line.')

const dependenciesArgument = z
  .array(createIdArgument())
  .max(MAX_DEPENDENCIES)
  .describe('Ids of the tasks that have to be DONE before this one is applied; replaces the list.')

const priorityArgument = z
  .preprocess((value) => (typeof value === 'string' ? normalisePriority(value) : value), z.enum(TASK_PRIORITIES))
  .describe('In any case; other words are refused.')

/** The fields of a task that a caller may set, beside its title and status. */
export const taskFieldArguments = {
  project_id: createIdArgument().nullable().exactOptional().describe('Groups tasks; any name.'),
  description: createTextArgument(MAX_DESCRIPTION_LENGTH).nullable().exactOptional(),
  priority: priorityArgument.nullable().exactOptional(),
  assignee: createIdArgument().nullable().exactOptional().describe('Who works on it; any name.'),
  depends_on: dependenciesArgument.exactOptional(),
}

export const reasonArgument = createTextArgument(MAX_REASON_LENGTH).describe(
  'Why the status changes; required for CANCELLED.',
)

/** What task_update takes, beside the id or inside `patch`. */
export const taskPatchArgumentSchemas = {
  title: titleArgument.exactOptional(),
  status: statusArgument
    .exactOptional()
    .describe(
      'The next status: INIT ▸ GATHER ▸ ANALYZE ▸ PLAN ▸ APPLY ▸ VERIFY ▸ DONE, VERIFY ▸ GATHER to retry, CANCELLED.',
    ),
  ...taskFieldArguments,
  reason: reasonArgument.exactOptional(),
}

export const taskPatchSchema = z.strictObject(taskPatchArgumentSchemas)
export type TaskPatch = z.output<typeof taskPatchSchema>
