/**
 * Call: everything that is on record about one call, and the proof that it is.
 *
 * Does I/O.
 */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { CallDetailView, EntryView, TraceView } from '../../../src/web/views.ts'
import { get, getText } from '../core/api.ts'
import { shortId, tookText } from '../core/format.ts'
import { listAt, numberAt, stringAt } from '../core/json.ts'
import { useLoad } from '../core/load.ts'
import { href } from '../core/route.ts'
import { line } from '../core/text.ts'
import { saveFile } from '../parts/copy.tsx'
import { Facts, Page, Section } from '../parts/frame.tsx'
import { JsonTree } from '../parts/json-tree.tsx'
import { StageBar, STAGES } from '../parts/stages.tsx'
import { Empty, Shown } from '../parts/states.tsx'
import { Badge, EffectBadge, ResultBadge, Time, Words } from '../parts/words.tsx'

/** What a rule's name in the ledger means. The sentence that the caller heard had more in it. */
const RULES: Readonly<Record<string, string>> = {
  mode: 'This node, or the family, is read-only.',
  role: 'The caller’s role does not cover it.',
  stop: 'The emergency stop was engaged.',
  approval: 'A person has to approve this exact call first.',
  'approval-required': 'A person has to approve this exact call first.',
  'approval-denied': 'A person said no.',
  'approval-void': 'An earlier approval no longer held.',
  'approval-used': 'An earlier approval was good for one call.',
  'token-effects': 'The credential is narrowed to other effects.',
  'token-profiles': 'The credential is narrowed to other profiles.',
  'token-devices': 'The credential does not cover this device.',
  trust: 'The other node is not trusted enough.',
  limits: 'There were too many calls.',
  owner: 'The owner’s rules forbid it.',
}

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
  const { traces, entries, approvals } = detail
  const enter = entries.find(({ kind }) => kind === 'call.enter')
  const exit = entries.find(({ kind }) => kind === 'call.exit' || kind === 'call.aborted')
  const last = traces.at(-1)
  const result = last?.result ?? stringAt(exit?.entry, 'outcome') ?? 'unknown'
  const reasons = listAt(exit?.entry, 'reasons').filter((reason) => typeof reason === 'string')
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
            <ul>
              {reasons.map((rule) => (
                <li key={rule}>
                  <code>{line(rule, 60)}</code> {RULES[rule] ?? ''}
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
          <ol class="hops">
            {traces.map((trace) => (
              <Hop key={trace.ts + trace.capability + trace.ms} trace={trace} />
            ))}
          </ol>
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
      <Entries entries={entries} />
    </>
  )
}

function Hop({ trace }: { readonly trace: TraceView }): JSX.Element {
  return (
    <li class={trace.isLocal ? 'hop' : 'hop remote'}>
      <p>
        <strong>{shortId(line(trace.fromNode))}</strong>
        {trace.toNode === undefined || (trace.isLocal && trace.fromNode === trace.toNode) ? null : (
          <>
            {' '}
            → <strong>{shortId(line(trace.toNode))}</strong>
          </>
        )}{' '}
        <code>{line(trace.capability)}</code> <ResultBadge result={trace.result} /> {tookText(trace.ms)}
        {trace.attempts > 1 ? `, ${trace.attempts} attempts` : ''}
        {trace.frames > 0 ? `, ${trace.frames} frames` : ''}
      </p>
      <StageBar trace={trace} />
      <dl class="facts small">
        {STAGES.filter((name) => trace.stages[name] !== undefined).map((name) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{tookText(trace.stages[name] ?? 0)}</dd>
          </div>
        ))}
      </dl>
    </li>
  )
}

function Entries({ entries }: { readonly entries: readonly EntryView[] }): JSX.Element {
  const [flaw, setFlaw] = useState('')
  const save = async (seq: number): Promise<void> => {
    setFlaw('')
    try {
      saveFile(`entry-${seq}.tlog-proof`, await getText(`/api/ledger/proof/${seq}`))
    } catch (error) {
      setFlaw(error instanceof Error ? error.message : String(error))
    }
  }
  return (
    <Section title="In the ledger" note="Each entry can be proven to anybody, offline: hearthbus ledger verify.">
      {flaw === '' ? null : (
        <p class="note bad" role="alert">
          {flaw}
        </p>
      )}
      {entries.length === 0 ? (
        <Empty title="The ledger says nothing about it." />
      ) : (
        <ul class="entries">
          {entries.map(({ seq, at, kind, entry }) => (
            <li key={seq}>
              <details>
                <summary>
                  <span class="mono">#{seq}</span> <strong>{line(kind)}</strong> <Time ms={Date.parse(at)} />
                  {numberAt(entry, 'call') === undefined ? null : (
                    <span class="aside"> closes #{numberAt(entry, 'call')}</span>
                  )}
                </summary>
                <JsonTree value={entry} />
              </details>
              <button type="button" class="small" onClick={() => void save(seq)}>
                Save proof
              </button>
            </li>
          ))}
        </ul>
      )}
    </Section>
  )
}

function entryText(detail: CallDetailView | undefined, field: string): string | undefined {
  return stringAt(detail?.entries.find(({ kind }) => kind === 'call.enter')?.entry, field)
}
