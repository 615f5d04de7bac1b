/**
 * Work: agents' tasks as a board by state; a task's thoughts in order, with the verification of their chain; sessions
 * and the roots they were sealed with.
 */
import { computed } from '@preact/signals'
import type { JSX } from 'preact'
import { ask } from '../core/ask.ts'
import { count } from '../core/format.ts'
import { booleanAt, listAt, numberAt, stringAt } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import { calls, toolNames } from '../core/live.ts'
import { useLoad } from '../core/load.ts'
import { asItIs, readPages } from '../core/pages.ts'
import { href, route } from '../core/route.ts'
import { line } from '../core/text.ts'
import { Facts, Page, Section } from '../parts/frame.tsx'
import { ReputationBoard } from '../parts/reputation.tsx'
import { Sessions } from '../parts/sessions.tsx'
import { Empty, Shown } from '../parts/states.tsx'
import { Badge, Prose, Time, Words } from '../parts/words.tsx'

const STATES = ['INIT', 'GATHER', 'ANALYZE', 'PLAN', 'APPLY', 'VERIFY', 'DONE', 'CANCELLED'] as const
const MAX_IN_COLUMN = 100
const LIST = 'task_list'
const CHANGERS = new Set(['task_create', 'task_update', 'thought_record', 'audit_session_start', 'merkle_finalize'])

/** The last call that changed a task or a thought: when there is a newer one, it is time to read again. */
const lastChange = computed(() => {
  const last = calls.value.find(({ capability, result }) => CHANGERS.has(capability) && result === 'ok')
  return last === undefined ? '' : `${last.traceId} ${last.ts}`
})

export function WorkPage(): JSX.Element {
  const { rest } = route.value
  if (!toolNames.value.has(LIST)) {
    return (
      <Page title="Work">
        <Empty title="This node keeps no tasks." />
      </Page>
    )
  }
  return rest === '' ? <Board /> : <Task key={rest} id={rest} />
}

function Board(): JSX.Element {
  const turn = lastChange.value
  const tasks = useLoad(readTasks, [turn], 1_000)
  return (
    <Page title="Work" lead="What agents have taken on, and how far it is.">
      <Shown of={tasks} what="Tasks">
        {(list) =>
          list.length === 0 ? (
            <Empty title="Nobody has taken anything on.">
              <p>
                An agent that plans several steps begins with <code>task_create</code>; then it can be followed here.
              </p>
            </Empty>
          ) : (
            <div class="board">
              {STATES.map((state) => (
                <Column key={state} state={state} tasks={list.filter((task) => stringAt(task, 'status') === state)} />
              ))}
            </div>
          )
        }
      </Shown>
      <Sessions turn={turn} />
      <ReputationBoard turn={turn} />
    </Page>
  )
}

function readTasks(): Promise<readonly Json[]> {
  return readPages(
    { tool: LIST, body: { limit: 100 }, list: 'tasks', next: 'next_cursor', cursor: 'cursor' },
    asItIs,
    10,
  )
}

function Column({ state, tasks }: { readonly state: string; readonly tasks: readonly Json[] }): JSX.Element {
  return (
    <section class={tasks.length === 0 ? 'column bare' : 'column'} aria-label={state}>
      <h2>
        {state.toLowerCase()} <span class="aside">{count(tasks.length)}</span>
      </h2>
      <ul>
        {tasks.slice(0, MAX_IN_COLUMN).map((task) => (
          <li key={stringAt(task, 'id')}>
            <a class="card task" href={href('work', stringAt(task, 'id') ?? '')}>
              <strong>
                <Words text={stringAt(task, 'title') ?? ''} />
              </strong>
              <span class="aside">
                <Words text={stringAt(task, 'assignee') ?? 'nobody'} /> ·{' '}
                <Time ms={Date.parse(stringAt(task, 'updated_at') ?? '')} />
              </span>
              {listAt(task, 'blocked_by').length > 0 ? (
                <Badge tone="warn">waits for {listAt(task, 'blocked_by').length}</Badge>
              ) : null}
            </a>
          </li>
        ))}
      </ul>
    </section>
  )
}

function Task({ id }: { readonly id: string }): JSX.Element {
  const turn = lastChange.value
  const task = useLoad(async () => (await ask('task_get', { id })).data, [id, turn], 1_000)
  const thoughts = useLoad(
    async () => listAt((await ask('thought_record_list', { task_id: id, limit: 100 })).data, 'records'),
    [id, turn],
    1_000,
  )
  const chain = useLoad(async () => (await ask('audit_verify_chain', { task_id: id })).data, [id, turn], 1_000)
  return (
    <Page
      title={line(stringAt(task.value, 'title') ?? 'Task', 100)}
      lead={<code>{line(id, 64)}</code>}
      actions={<a href={href('work')}>All work</a>}
    >
      <Shown of={task} what="The task">
        {(data) => (
          <>
            {stringAt(data, 'description') === undefined ? null : <Prose text={stringAt(data, 'description') ?? ''} />}
            <Facts
              of={[
                [
                  'State',
                  <Badge key="state" tone="accent">
                    {line(stringAt(data, 'status') ?? '')}
                  </Badge>,
                ],
                ['For', <Words key="assignee" text={stringAt(data, 'assignee') ?? 'nobody'} />],
                ['Priority', <Words key="priority" text={stringAt(data, 'priority') ?? '–'} />],
                ['Project', <Words key="project" text={stringAt(data, 'project_id') ?? '–'} />],
                ['Attempt', numberAt(data, 'attempt') ?? 1],
                ['Changed', <Time key="changed" ms={Date.parse(stringAt(data, 'updated_at') ?? '')} />],
              ]}
            />
          </>
        )}
      </Shown>
      <Section title="Thoughts" note={<Chain of={chain.value} error={chain.error} />}>
        <Shown of={thoughts} what="Thoughts">
          {(list) => (list.length === 0 ? <p class="aside">None are recorded.</p> : <Thoughts list={list} />)}
        </Shown>
      </Section>
      <Sessions turn={turn} task={id} />
    </Page>
  )
}

function Chain({ of, error }: { readonly of: Json | undefined; readonly error: string | undefined }): JSX.Element {
  if (error !== undefined) return <Badge tone="warn">not verified: {line(error, 80)}</Badge>
  if (of === undefined) return <Badge>being verified</Badge>
  if (booleanAt(of, 'valid') === true)
    return <Badge tone="good">{`chain of ${numberAt(of, 'record_count') ?? 0} verified`}</Badge>
  // The thoughts may be in order while the task or a session is not what the ledger says.
  const problem = stringAt(of, 'problems', 0)
  if (problem !== undefined) return <Badge tone="bad">{line(problem, 160)}</Badge>
  return (
    <Badge tone="bad">{`broken: ${numberAt(of, 'broken_count') ?? 0} wrong, ${numberAt(of, 'missing_count') ?? 0} missing`}</Badge>
  )
}

function Thoughts({ list }: { readonly list: readonly Json[] }): JSX.Element {
  return (
    <ol class="thoughts">
      {list.map((thought) => (
        <li key={stringAt(thought, 'id')} class="card">
          <header>
            <Badge tone="accent">{line(stringAt(thought, 'type') ?? '', 20)}</Badge>
            <span class="aside">
              <Words text={stringAt(thought, 'agent_id') ?? ''} />{' '}
              {booleanAt(thought, 'signed') === true ? '(signed)' : '(claims so)'} ·{' '}
              <Time ms={Date.parse(stringAt(thought, 'timestamp') ?? '')} />
            </span>
          </header>
          {stringAt(thought, 'content') === undefined ? (
            <p class="aside">Its words were erased; its hash remains.</p>
          ) : (
            <Prose text={stringAt(thought, 'content') ?? ''} max={8_000} />
          )}
          <p class="hash">
            <code>{line(stringAt(thought, 'hash') ?? '', 64)}</code>
          </p>
        </li>
      ))}
    </ol>
  )
}
