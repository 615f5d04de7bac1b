/** Sessions: undertakings whose thoughts are sealed together: what each is for, how much it gathered, and its root. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { ask } from '../core/ask.ts'
import { useAttempt } from '../core/attempt.ts'
import { count } from '../core/format.ts'
import { numberAt, stringAt } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import { toolNames } from '../core/live.ts'
import { useLoad } from '../core/load.ts'
import { asItIs, readPages } from '../core/pages.ts'
import { href } from '../core/route.ts'
import { line } from '../core/text.ts'
import { Code, saveFile } from './copy.tsx'
import { Dialog } from './dialog.tsx'
import { Facts, Section } from './frame.tsx'
import { Flaw, Shown } from './states.tsx'
import { Table } from './table.tsx'
import { Badge, Time, Words, wordsAt } from './words.tsx'
import type { Tone } from './words.tsx'

const LIST = 'audit_session_list'
const PAGE = 200
const MAX_PAGES = 10

const TONES: Readonly<Record<string, Tone>> = { open: 'accent', sealed: 'good', broken: 'bad' }

/** Of one task, or all of them. */
export function Sessions({ turn, task }: { readonly turn: string; readonly task?: string }): JSX.Element | null {
  const [open, setOpen] = useState<Json | undefined>(undefined)
  const sessions = useLoad(() => readSessions(task), [turn, task], 1_000)
  if (!toolNames.value.has(LIST)) return null
  return (
    <Section title="Sessions" note="Thoughts that are sealed together, under one root.">
      <Shown of={sessions} what="Sessions">
        {(list) => (
          <Table
            label="Sessions"
            rows={list}
            rowKey={(session) => stringAt(session, 'session_id') ?? ''}
            height={360}
            onOpen={setOpen}
            empty={
              <p class="aside">
                None. An agent begins one with <code>audit_session_start</code>.
              </p>
            }
            columns={[
              {
                name: 'Begun',
                width: '8rem',
                minor: true,
                cell: (session) => <Time ms={timeAt(session, 'started_at')} />,
              },
              { name: 'For', width: 'minmax(0,2fr)', cell: wordsAt('intent') },
              { name: 'By', width: 'minmax(0,1fr)', minor: true, cell: wordsAt('started_by') },
              {
                name: 'Thoughts',
                width: '6rem',
                minor: true,
                cell: (session) => count(numberAt(session, 'record_count') ?? 0),
              },
              { name: 'State', width: '6rem', cell: state },
              {
                name: 'Root',
                width: 'minmax(0,2fr)',
                minor: true,
                cell: (session) => <code>{line(stringAt(session, 'root') ?? '–', 64)}</code>,
              },
            ]}
          />
        )}
      </Shown>
      {open === undefined ? null : <SessionDialog session={open} onClose={() => setOpen(undefined)} />}
    </Section>
  )
}

function readSessions(task: string | undefined): Promise<readonly Json[]> {
  const body = { limit: PAGE, ...(task === undefined ? {} : { task_id: task }) }
  return readPages({ tool: LIST, body, list: 'sessions', next: 'next_cursor', cursor: 'cursor' }, asItIs, MAX_PAGES)
}

function SessionDialog({ session, onClose }: { readonly session: Json; readonly onClose: () => void }): JSX.Element {
  const { flaw, attempt } = useAttempt()
  const [root, seal, task] = [stringAt(session, 'root'), numberAt(session, 'seal_index'), stringAt(session, 'task_id')]
  const save = async (index: number): Promise<void> => {
    const { data } = await ask('ledger_proof', { log_index: index })
    saveFile(`session-${index}.tlog-proof`, stringAt(data, 'proof') ?? '')
  }
  return (
    <Dialog title={<bdi>{line(at(session, 'intent'), 100)}</bdi>} onClose={onClose}>
      <Facts
        of={[
          ['State', state(session)],
          ['Begun', <Time key="begun" ms={timeAt(session, 'started_at')} />],
          ['By', <Words key="by" text={at(session, 'started_by')} />],
          ['Thoughts', count(numberAt(session, 'record_count') ?? 0)],
          ...(seal === undefined
            ? []
            : ([['Sealed', <Time key="sealed" ms={timeAt(session, 'finalized_at')} />]] as const)),
          ['Session', <code key="id">{line(at(session, 'session_id'), 64)}</code>],
        ]}
      />
      {task === undefined ? null : (
        <p>
          <a href={href('work', task)}>Its task</a>
        </p>
      )}
      {root === undefined || seal === undefined ? (
        <p class="aside">It is not sealed yet; an agent seals it with merkle_finalize.</p>
      ) : (
        <>
          <h3>Root</h3>
          <Code text={line(root, 64)} label="The root" />
          <Flaw text={flaw} />
          <div class="buttons">
            <button type="button" onClick={() => void attempt(() => save(seal))}>
              Save the proof of entry #{seal}
            </button>
          </div>
        </>
      )}
    </Dialog>
  )
}

function state(session: Json): JSX.Element {
  const text = at(session, 'state')
  return <Badge tone={TONES[text] ?? 'calm'}>{line(text, 20)}</Badge>
}

function at(session: Json, field: string): string {
  return stringAt(session, field) ?? ''
}

function timeAt(session: Json, field: string): number {
  return Date.parse(at(session, field))
}
