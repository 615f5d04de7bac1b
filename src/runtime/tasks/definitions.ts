/**
 * Definitions: the five task tools as values.
 */
import { z } from 'zod'
import { assessRecordCall, defineRuntimeTool, idempotencyKeyArgument } from '../runtime-tool.ts'
import { cursorArgument, limitArgument } from '../paging.ts'
import { createIdArgument } from '../text-arguments.ts'
import { changeOutputSchema } from '../system/ledger-change-view.ts'
import { reflectionToRecordArgument } from '../trail/thought-definitions.ts'
import { thoughtOutputSchema } from '../trail/thought.ts'
import { TASK_STATUSES } from './task-machine.ts'
import {
  taskFieldArguments,
  taskPatchSchema,
  taskPatchArgumentSchemas,
  reasonArgument,
  statusArgument,
  taskOutputSchema,
  taskHistoryEntrySchema,
  titleArgument,
} from './task.ts'
import type { TaskPatch } from './task.ts'

/** A longer list is a plan of its own; a call must stay one transaction and one answer that a model can read. */
const MAX_MORE_TASKS = 49

const creationArguments = {
  title: titleArgument,
  ...taskFieldArguments,
  follows: createIdArgument()
    .exactOptional()
    .describe('The task, usually a closed one, whose work this one takes up again.'),
}

export const taskCreateTool = defineRuntimeTool({
  name: 'task_create',
  title: 'Create a task',
  description:
    'Puts a new task on record, in status INIT. Use it before work that takes several steps, so that others see what is going on and it can be proved afterwards. `depends_on` names tasks that have to be DONE first. `more` creates further tasks in the same call, all or none; there `depends_on` and `follows` may also say `#0` for the first task of the call, `#1` for the next, and so on.',
  input: z.strictObject({
    ...creationArguments,
    // Spec 5's schema accepts any status here; any but the first is refused as an invalid transition.
    status: statusArgument.exactOptional().describe('INIT, or leave it out: every task begins there.'),
    more: z.array(z.strictObject(creationArguments)).min(1).max(MAX_MORE_TASKS).exactOptional(),
    idempotency_key: idempotencyKeyArgument,
  }),
  output: taskOutputSchema.extend({ more: z.array(taskOutputSchema).exactOptional().describe('In the order given.') }),
  effect: 'records',
  assess: assessRecordCall,
})

/** The parts that task_get can add to a task. */
const TASK_PARTS = ['history', 'thoughts', 'changes'] as const

export const taskGetTool = defineRuntimeTool({
  name: 'task_get',
  title: 'Read a task',
  description:
    'Returns one task: its fields, its status, what it depends on and what still blocks it. `include` adds its `history` (every change and transition, with reasons and by whom), its `thoughts`, and the `changes` in the house that calls made for it (calls name their task in `_meta["io.hearthbus/task"]`).',
  input: z.strictObject({
    id: createIdArgument(),
    include: z.array(z.enum(TASK_PARTS)).max(TASK_PARTS.length).default([]),
  }),
  output: taskOutputSchema.extend({
    history: z.array(taskHistoryEntrySchema).exactOptional().describe('Oldest first.'),
    history_omitted: z.int().exactOptional().describe('Earlier changes, not listed.'),
    thoughts: z.array(thoughtOutputSchema).exactOptional().describe('Oldest first.'),
    changes: z.array(changeOutputSchema).exactOptional().describe('Newest first, as ledger_changes lists them.'),
    changes_cursor: z.string().exactOptional().describe('There may be more: give it to ledger_changes.'),
    thoughts_cursor: z.string().exactOptional().describe('There are more: give it to thought_record_list.'),
  }),
  effect: 'reads',
})

/** The machine has eight statuses, and a retry repeats some of them. */
const MAX_TRANSITIONS = 16

const transitionsArgument = z
  .array(
    z.strictObject({
      status: statusArgument,
      reason: reasonArgument.exactOptional(),
    }),
  )
  .min(1)
  .max(MAX_TRANSITIONS)
  .describe('Instead of `status`: several transitions in order, all or none.')

/**
 * Agents send the fields flat as often as nested, and also a progress, which tasks do not have: it is accepted and
 * reported as ignored.
 */
const updateInput = z
  .strictObject({
    id: createIdArgument(),
    patch: taskPatchSchema.exactOptional().describe('The fields to change; they may also stand beside `id`.'),
    ...taskPatchArgumentSchemas,
    transitions: transitionsArgument.exactOptional(),
    reflection: reflectionToRecordArgument
      .exactOptional()
      .describe('The reflection that DONE needs, recorded just before it, as thought_record would.'),
    expected_version: z
      .int()
      .min(1)
      .exactOptional()
      .describe('Refuse the change if the task is no longer at this version.'),
    progress: z.number().min(0).max(100).exactOptional().describe('Not kept: the status says how far a task is.'),
    idempotency_key: idempotencyKeyArgument,
  })
  // If one field has two values, it is not known which was meant.
  .check(({ value, issues }) => {
    const refuse = (field: string, message: string): void => {
      issues.push({ code: 'custom', input: value, path: [field], message })
    }
    const { patch, transitions, reflection, ...rest } = value
    const { id: _id, expected_version: _version, progress: _progress, idempotency_key: _key, ...flat } = rest
    const twice = Object.keys(flat).filter((field) => patch !== undefined && Object.hasOwn(patch, field))
    for (const field of twice) refuse(field, 'given twice: here and in `patch`')
    const { reason, ...changes } = { ...flat, ...patch }
    if (transitions !== undefined && changes.status !== undefined) refuse('transitions', 'given beside `status`')
    if (transitions !== undefined && reason !== undefined) refuse('reason', 'goes into the transition that it is of')
    const isEnding = transitions?.some(({ status }) => status === 'DONE') ?? changes.status === 'DONE'
    if (reflection !== undefined && !isEnding) refuse('reflection', 'goes with the transition to DONE')
    if (Object.keys(changes).length > 0 || transitions !== undefined) return
    // A reason belongs to a change; a call with nothing but a reason would be reported as done without any effect.
    if (reason === undefined) refuse('patch', 'names nothing to change')
    else refuse('reason', 'goes with a change of the task, and there is none')
  })
  .transform(({ id, expected_version, progress, patch, transitions, reflection, idempotency_key, ...flat }) => {
    const { status, reason, ...words }: TaskPatch = { ...flat, ...patch }
    const single = status === undefined ? [] : [{ status, ...(reason === undefined ? {} : { reason }) }]
    return {
      id,
      words: { ...words, ...(status === undefined && reason !== undefined ? { reason } : {}) },
      transitions: transitions ?? single,
      ignored: progress === undefined ? [] : ['progress'],
      ...(reflection === undefined ? {} : { reflection }),
      ...(expected_version === undefined ? {} : { expected_version }),
      ...(idempotency_key === undefined ? {} : { idempotency_key }),
    }
  })

export const taskUpdateTool = defineRuntimeTool({
  name: 'task_update',
  title: 'Change a task',
  description:
    'Changes fields of a task or moves it on: INIT ▸ GATHER ▸ ANALYZE ▸ PLAN ▸ APPLY ▸ VERIFY ▸ DONE; VERIFY ▸ GATHER tries again; CANCELLED ends it and needs a `reason`. No status is skipped; `transitions` takes several steps in one call. APPLY needs every dependency DONE. DONE needs a reflection from after the task entered VERIFY: recorded with thought_record, or given here as `reflection`. A task that is DONE or CANCELLED never changes again: create one that `follows` it.',
  input: updateInput,
  output: taskOutputSchema.extend({
    reflection: thoughtOutputSchema.exactOptional(),
    ignored: z.array(z.string()).exactOptional().describe('Arguments that no task has.'),
  }),
  effect: 'records',
  assess: assessRecordCall,
  // As in thought_record, the text is stored once, beside the ledger.
  secrets: ['content'],
})

export const taskListTool = defineRuntimeTool({
  name: 'task_list',
  title: 'List tasks',
  description:
    'Lists tasks in the order they were created, finished ones included. Page with `cursor`; `offset` works for short lists. For what can be worked on now, use task_next_actions.',
  input: z.strictObject({
    status: statusArgument.exactOptional(),
    project_id: createIdArgument().exactOptional(),
    assignee: createIdArgument().exactOptional(),
    limit: limitArgument,
    offset: z.int().min(0).max(1_000_000).default(0).describe('How many to skip, after `cursor` if there is one.'),
    cursor: cursorArgument,
    // A filter of spec 5 that has no effect, because no tool deletes a task.
    include_deleted: z.boolean().default(false),
  }),
  output: z.object({
    tasks: z.array(taskOutputSchema),
    total: z.int().describe('How many fit the filters, on all pages.'),
    next_cursor: z.string().exactOptional(),
  }),
  effect: 'reads',
})

export const taskNextActionsTool = defineRuntimeTool({
  name: 'task_next_actions',
  title: 'What can be worked on now',
  description:
    'Lists the open tasks that wait for no other task, most pressing first, then oldest first, each with the statuses it can go to. `stalled` names tasks that depend on a cancelled one and will wait for ever unless their `depends_on` is changed.',
  input: z.strictObject({
    project_id: createIdArgument().exactOptional(),
    assignee: createIdArgument().exactOptional(),
    limit: limitArgument,
    cursor: cursorArgument,
  }),
  output: z.object({
    tasks: z.array(taskOutputSchema.extend({ next_statuses: z.array(z.enum(TASK_STATUSES)) })),
    blocked_count: z.int().describe('Open tasks that wait for another.'),
    stalled: z.array(z.object({ id: z.string(), cancelled_dependencies: z.array(z.string()) })),
    next_cursor: z.string().exactOptional(),
  }),
  effect: 'reads',
})
