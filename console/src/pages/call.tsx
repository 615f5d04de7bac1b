/**
 * Call: everything that is on record about one call, and the proof that it is.
 *
 * Does I/O.
 */
import type { JSX } from 'preact'
import type { CallDetailView } from '../../../src/web/views.ts'
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
  const call = useLoad(() => get<CallDetailView>(`/api/calls/${encodeURIComponent(traceId)}`), [traceId])
  const name = call.value?.traces.at(-1)?.capability ?? entryText(call.value, 'tool') ?? 'Call'
  return (
    <Page
      title={line(name, 80)}
      lead={<code>{line(traceId, 64)}</code>}
      actions={<a href={href('calls')}>All calls</a>}
    >
      <Shown of={call} what="The call">
        {(detail) => <Detail detail={detail} />}
      </Shown>
    </Page>
  )
}

function Detail({ detail }: { readonly detail: CallDetailView }): JSX.Element {
  const { traces, entries, approvals, reasons } = detail
  const enter = entries.find(({ kind }) => kind === 'call.enter')
  const exit = entries.find(({ kind }) => kind === 'call.exit' || kind === 'call.aborted')
  const last = traces.at(-1)
  const result = last?.result ?? stringAt(exit?.entry, 'outcome') ?? 'unknown'
  return (
    <>
      <Section title="What happened">
        <Facts
          of={[
            ['Outcome', <ResultBadge key="result" result={result} />],
            ['Asked by', <Words key="who" text={stringAt(enter?.entry, 'principal') ?? last?.caller ?? 'unknown'} />],
            ['Through', line(stringAt(enter?.entry, 'channel') ?? last?.channel ?? '–')],
            ['Client', <Words key="client" text={stringAt(enter?.entry, 'client') ?? '–'} />],
            ['Effect', <EffectBadge key="effect" effect={stringAt(enter?.entry, 'effect') ?? 'unknown'} />],
            ['Began', enter === undefined ? '–' : <Time key="at" ms={Date.parse(enter.at)} />],
            ['Took', last === undefined ? '–' : tookText(last.ms)],
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
      </Section>
      {traces.length === 0 ? null : (
        <Section title="Its way" note="Stages here, and nodes it went to.">
          <Hops traces={traces} />
        </Section>
      )}
      <Section title="Arguments" note="Secrets are hidden before anything is kept.">
        {detail.arguments === null ? <p class="aside">None are kept.</p> : <JsonTree value={detail.arguments} />}
      </Section>
      <Section title="Result">
        {detail.withheld === 'reads-are-not-kept' ? (
          <p class="aside">What a read answered is not kept; the ledger has its hash.</p>
        ) : detail.withheld === 'erased' ? (
          <p class="aside">It was erased on request; the ledger has its hash.</p>
        ) : detail.result === null ? (
          <p class="aside">There is none.</p>
        ) : (
          <JsonTree value={detail.result} />
        )}
      </Section>
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

function entryText(detail: CallDetailView | undefined, field: string): string | undefined {
  return stringAt(detail?.entries.find(({ kind }) => kind === 'call.enter')?.entry, field)
}
