/** Call: everything that is on record about one call, and the proof that it is. */
import type { JSX } from 'preact'
import type { TraceDetailView, RecordedCallView } from '../../../src/web/views.ts'
import { get, getText } from '../core/api.ts'
import { tookText } from '../core/format.ts'
import { stringAt } from '../core/json.ts'
import { useLoad } from '../core/load.ts'
import { href } from '../core/route.ts'
import { line } from '../core/text.ts'
import { Entries } from '../parts/entries.tsx'
import { Facts, Page, Section } from '../parts/frame.tsx'
import { Hops } from '../parts/hops.tsx'
import { JsonTree } from '../parts/json-tree.tsx'
import { Empty, Shown } from '../parts/states.tsx'
import { Badge, EffectBadge, ResultBadge, Time, Words } from '../parts/words.tsx'

export function CallPage({ traceId }: { readonly traceId: string }): JSX.Element {
  const call = useLoad(() => get<TraceDetailView>(`/api/calls/${encodeURIComponent(traceId)}`), [traceId])
  return (
    <Page
      title={titleOf(call.value)}
      lead={<code>{line(traceId, 64)}</code>}
      actions={<a href={href('calls')}>All calls</a>}
    >
      <Shown of={call} what="The call">
        {(detail) => <Detail detail={detail} />}
      </Shown>
    </Page>
  )
}

/** A client may do much under one trace id, and what it calls may call further. */
function titleOf(detail: TraceDetailView | undefined): string {
  const [first, ...more] = detail?.calls ?? []
  const name = line(stringAt(first?.enter.entry, 'tool') ?? detail?.traces.at(-1)?.capability ?? 'Call', 80)
  return more.length === 0 ? name : `${name} and ${more.length} more`
}

function Detail({ detail }: { readonly detail: TraceDetailView }): JSX.Element {
  const { traces, calls, entries, approvals } = detail
  const last = traces.at(-1)
  return (
    <>
      {calls.length > 1 ? (
        <p class="note">
          {calls.length} calls have this trace id: who calls may choose it, and a call that calls further hands it on.
        </p>
      ) : null}
      {calls.map((call) => (
        <Recorded key={call.enter.seq} call={call} title={calls.length === 1 ? undefined : toolOf(call)} />
      ))}
      {calls.length === 0 && last !== undefined ? (
        <Section title="What happened">
          <Facts
            of={[
              ['Outcome', <ResultBadge key="result" result={last.result} />],
              ['Asked by', <Words key="who" text={last.caller} />],
              ['Through', line(last.channel)],
              ['Took', tookText(last.ms)],
            ]}
          />
        </Section>
      ) : null}
      {approvals.map((approval) => (
        <p key={approval.id} class="note">
          <Badge tone={approval.state === 'denied' ? 'bad' : 'accent'}>{approval.state}</Badge> Approval{' '}
          <code>{approval.id}</code>
          {approval.decidedBy === undefined ? null : (
            <>
              , decided by <Words text={approval.decidedBy} />
            </>
          )}
          {approval.reason === undefined ? null : (
            <>
              : <Words text={approval.reason} />
            </>
          )}
        </p>
      ))}
      {traces.length === 0 ? null : (
        <Section title="Its way" note="Stages here, and nodes it went to.">
          <Hops traces={traces} />
        </Section>
      )}
      <Section title="In the ledger" note="Each entry can be proven to anybody, offline, with this node’s public key.">
        {entries.length === 0 ? (
          <Empty title="The ledger says nothing about it." />
        ) : (
          <Entries entries={entries} name="entry" proofOf={(seq) => getText(`/api/ledger/proof/${seq}`)} />
        )}
      </Section>
    </>
  )
}

/** One call, as the ledger has it. */
function Recorded({
  call,
  title,
}: {
  readonly call: RecordedCallView
  readonly title: string | undefined
}): JSX.Element {
  const { enter, exit, reasons } = call
  const of = title === undefined ? '' : ` of ${title}`
  return (
    <>
      <Section title={title ?? 'What happened'}>
        <Facts
          of={[
            ['Outcome', <ResultBadge key="result" result={outcomeOf(call)} />],
            ['Asked by', <Words key="who" text={stringAt(enter.entry, 'principal') ?? 'unknown'} />],
            ['Through', line(stringAt(enter.entry, 'channel') ?? '–')],
            ['Client', <Words key="client" text={stringAt(enter.entry, 'client') ?? '–'} />],
            ['Effect', <EffectBadge key="effect" effect={stringAt(enter.entry, 'effect') ?? 'unknown'} />],
            ['Began', <Time key="at" ms={Date.parse(enter.at)} />],
            ['Took', exit === null ? '–' : tookText(Date.parse(exit.at) - Date.parse(enter.at))],
          ]}
        />
        {reasons.length === 0 ? null : (
          <>
            <h3>Why it was refused</h3>
            <ul class="reasons">
              {reasons.map(({ rule, sentence }, index) => (
                <li key={index}>
                  {sentence === null ? null : <Words text={sentence} max={600} />} <code>{line(rule, 60)}</code>
                </li>
              ))}
            </ul>
          </>
        )}
      </Section>
      <Section title={`Arguments${of}`} note="Secrets are hidden before anything is kept.">
        {call.arguments === null ? <p class="aside">None are kept.</p> : <JsonTree value={call.arguments} />}
      </Section>
      <Section title={`Result${of}`}>
        {call.withheld === 'reads-are-not-kept' ? (
          <p class="aside">What a read answered is not kept; the ledger has its hash.</p>
        ) : call.withheld === 'erased' ? (
          <p class="aside">It was erased on request; the ledger has its hash.</p>
        ) : call.result === null ? (
          <p class="aside">There is none.</p>
        ) : (
          <JsonTree value={call.result} />
        )}
      </Section>
      {call.later.map(({ entry, observed, message }) => (
        <Section key={entry.seq} title={`Afterwards${of}`}>
          <Facts
            of={[
              ['It was', line(stringAt(entry.entry, 'outcome') ?? '–', 60)],
              ['Known by', line(stringAt(entry.entry, 'source') ?? '–', 60)],
              ['At', <Time key="at" ms={Date.parse(entry.at)} />],
            ]}
          />
          {message === null ? null : <Words text={message} max={600} />}
          {observed === null ? null : <JsonTree value={observed} />}
        </Section>
      ))}
    </>
  )
}

function toolOf({ enter }: RecordedCallView): string {
  return line(stringAt(enter.entry, 'tool') ?? 'Call', 80)
}

/** As the list of calls has it: `ok`, or what went wrong. */
function outcomeOf({ exit }: RecordedCallView): string {
  if (exit === null) return 'running'
  return stringAt(exit.entry, 'error_code') ?? stringAt(exit.entry, 'outcome') ?? 'aborted'
}
