/**
 * Calls: every call as it comes, newest first, to be searched, held still, and opened.
 *
 * Pure, but for the address.
 */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { CallTraceView } from '../../../src/web/views.ts'
import { count, shortId, tookText } from '../core/format.ts'
import { callKey, calls, MAX_CALLS } from '../core/live.ts'
import { href, route } from '../core/route.ts'
import { line } from '../core/text.ts'
import { Choice, Filters, searched } from '../parts/filters.tsx'
import { Page } from '../parts/frame.tsx'
import { StageBar, STAGES } from '../parts/stages.tsx'
import { Empty } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'
import { ResultBadge, resultTone, Time, ToolName, Words } from '../parts/words.tsx'

const OUTCOMES = [
  ['', 'any'],
  ['good', 'done'],
  ['warn', 'refused'],
  ['bad', 'failed'],
  ['remote', 'on another node'],
] as const

export function CallsPage(): JSX.Element {
  const [held, setHeld] = useState<readonly CallTraceView[] | undefined>(undefined)
  const [text, how] = [searched(), route.value.query.get('how') ?? '']
  const all = held ?? calls.value
  const shown = all.filter((call) => fits(call, text, how))
  return (
    <Page
      title="Calls"
      lead={`Everything that was called, whoever asked. The newest ${count(MAX_CALLS)} are here, the rest in the ledger.`}
      actions={
        <button
          type="button"
          aria-pressed={held !== undefined}
          onClick={() => setHeld(held === undefined ? calls.value : undefined)}
        >
          {held === undefined ? 'Hold still' : 'Go on'}
        </button>
      }
    >
      <Filters placeholder="tool, caller, node, trace" shown={shown.length} of={all.length}>
        <Choice label="Outcome" name="how" value={how} options={OUTCOMES} />
      </Filters>
      <Table
        label="Calls, newest first"
        rows={shown}
        rowKey={callKey}
        height={640}
        onOpen={({ traceId }) => {
          location.hash = href('calls', traceId)
        }}
        empty={
          all.length === 0 ? (
            <Empty title="Nothing was called yet.">
              <p>
                Connect an agent (<a href={href('settings')}>Settings</a>) or try a tool (
                <a href={href('tools')}>Tools</a>).
              </p>
            </Empty>
          ) : (
            <Empty title="No call fits the search." />
          )
        }
        columns={[
          { name: 'Time', width: '7rem', minor: true, cell: ({ ts }) => <Time ms={Date.parse(ts)} /> },
          { name: 'Tool', width: 'minmax(0,3fr)', cell: ({ capability }) => <ToolName name={capability} /> },
          { name: 'Caller', width: 'minmax(0,1fr)', minor: true, cell: ({ caller }) => <Words text={caller} /> },
          { name: 'Outcome', width: '9rem', cell: ({ result }) => <ResultBadge result={result} /> },
          { name: 'Took', width: '5rem', minor: true, cell: ({ ms }) => tookText(ms) },
          { name: 'Stages', width: '7rem', minor: true, cell: (call) => <StageBar trace={call} /> },
          { name: 'Where', width: '8rem', minor: true, cell: where },
        ]}
      />
      <p class="legend" aria-hidden="true">
        {STAGES.map((name, index) => (
          <span key={name}>
            <span class={`swatch stage-${index}`} /> {name}
          </span>
        ))}
      </p>
    </Page>
  )
}

function where({ isLocal, toNode, toName, attempts }: CallTraceView): string {
  if (toNode === undefined) return 'nowhere'
  const place = isLocal ? 'here' : line(toName ?? shortId(toNode), 40)
  return attempts > 1 ? `${place}, ${attempts} tries` : place
}

function fits(call: CallTraceView, text: string, how: string): boolean {
  if (how === 'remote' ? call.isLocal : how !== '' && resultTone(call.result) !== how) return false
  if (text === '') return true
  return [
    call.capability,
    call.caller,
    call.channel,
    call.result,
    call.traceId,
    call.toNode ?? '',
    call.toName ?? '',
  ].some((part) => part.toLowerCase().includes(text))
}
