/**
 * Definitions: the five task tools as values.
 *
 * Pure.
 */
import { z } from 'zod'
import { defineTool } from '../../bus/capability-definition.ts'
import { RUNTIME_LOCK } from '../dependencies.ts'
import { runtimeFamily } from '../envelope.ts'
import { cursorArgument, limitArgument } from '../paging.ts'
import { id } from '../text.ts'
import { STATUSES } from './machine.ts'
import { detailArguments, patchArgument, patchArguments, statusArgument, taskOutput, titleArgument } from './task.ts'
import type { TaskPatch } from './task.ts'

const common = { family: runtimeFamily, lock: RUNTIME_LOCK } as const

export const taskCreate = defineTool({
  ...common,
  name: 'task_create',
  title: 'Create a task',
  description:
    'Puts a new task on record, in status INIT. Use it before work that takes several steps, so that others see what is going on and it can be proved afterwards. `depends_on` names tasks that have to be DONE first.',
  input: z.strictObject({
    title: titleArgument,
    // Spec 5's schema takes any status here; any but the first is refused as a transition from nowhere.
    status: statusArgument.exactOptional().describe('INIT, or leave it out: every task begins there.'),
    ...detailArguments,
  }),
  output: taskOutput,
  effect: 'records',
})

export const taskGet = defineTool({
  ...common,
  name: 'task_get',
  title: 'Read a task',
  description: 'Returns one task: its fields, its status, what it depends on and what still blocks it.',
  input: z.strictObject({ id: id() }),
  output: taskOutput,
  effect: 'reads',
})

/**
 * Agents call it flat as often as nested, and report a progress that no task has: understood, and said to be ignored.
 */
const updateInput = z
  .strictObject({
    id: id(),
    patch: patchArgument.exactOptional().describe('The fields to change; they may also stand beside `id`.'),
    ...patchArguments,
    expected_version: z
      .int()
      .min(1)
      .exactOptional()
      .describe('Refuse the change if the task is no longer at this version.'),
    progress: z.number().min(0).max(100).exactOptional().describe('Not kept: the status says how far a task is.'),
  })
  // Of two values for one field neither can be told to be the one that was meant.
  .check(({ value, issues }) => {
    const { id: _id, expected_version: _version, progress: _progress, patch, ...flat } = value
    const twice = Object.keys(flat).filter((field) => patch !== undefined && Object.hasOwn(patch, field))
    for (const field of twice)
      issues.push({ code: 'custom', input: value, path: [field], message: 'given twice: here and in `patch`' })
    const { reason, ...changes } = { ...flat, ...patch }
    if (Object.keys(changes).length > 0) return
    // A reason is of a change; who gave it alone would hear that it was done, and see nothing of it.
    const [path, message] =
      reason === undefined
        ? ['patch', 'names nothing to change']
        : ['reason', 'goes with a change of the task, and there is none']
    issues.push({ code: 'custom', input: value, path: [path], message })
  })
  .transform(({ id, expected_version, progress, patch, ...flat }) => {
    const merged: TaskPatch = { ...flat, ...patch }
    return {
      id,
      patch: merged,
      ignored: progress === undefined ? [] : ['progress'],
      ...(expected_version === undefined ? {} : { expected_version }),
    }
  })

export const taskUpdate = defineTool({
  ...common,
  name: 'task_update',
  title: 'Change a task',
  description:
    'Changes fields of a task or moves it one status on: INIT ▸ GATHER ▸ ANALYZE ▸ PLAN ▸ APPLY ▸ VERIFY ▸ DONE; VERIFY ▸ GATHER tries again; CANCELLED ends it and needs a `reason`. No status is skipped. APPLY needs every dependency DONE. DONE needs a `reflection` recorded with thought_record after the task entered VERIFY.',
  input: updateInput,
  output: taskOutput.extend({ ignored: z.array(z.string()).exactOptional().describe('Arguments that no task has.') }),
  effect: 'records',
})

export const taskList = defineTool({
  ...common,
  name: 'task_list',
  title: 'List tasks',
  description:
    'Lists tasks in the order they were created, finished ones included. Page with `cursor`; `offset` works for short lists. For what can be worked on now, use task_next_actions.',
  input: z.strictObject({
    status: statusArgument.exactOptional(),
    project_id: id().exactOptional(),
    assignee: id().exactOptional(),
    limit: limitArgument,
    offset: z.int().min(0).max(1_000_000).default(0).describe('How many to skip, after `cursor` if there is one.'),
    cursor: cursorArgument,
    // Spec 5's filter; no tool deletes a task, so it has nothing to add.
    include_deleted: z.boolean().default(false),
  }),
  output: z.object({
    tasks: z.array(taskOutput),
    total: z.int().describe('How many fit the filters, on all pages.'),
    next_cursor: z.string().exactOptional(),
  }),
  effect: 'reads',
})

export const taskNextActions = defineTool({
  ...common,
  name: 'task_next_actions',
  title: 'What can be worked on now',
  description:
    'Lists the open tasks that wait for no other task, most pressing first, then oldest first, each with the statuses it can go to. `stalled` names tasks that depend on a cancelled one and will wait for ever unless their `depends_on` is changed.',
  input: z.strictObject({
    project_id: id().exactOptional(),
    assignee: id().exactOptional(),
    limit: limitArgument,
    cursor: cursorArgument,
  }),
  output: z.object({
    tasks: z.array(taskOutput.extend({ next_statuses: z.array(z.enum(STATUSES)) })),
    blocked_count: z.int().describe('Open tasks that wait for another.'),
    stalled: z.array(z.object({ id: z.string(), cancelled_dependencies: z.array(z.string()) })),
    next_cursor: z.string().exactOptional(),
  }),
  effect: 'reads',
})
