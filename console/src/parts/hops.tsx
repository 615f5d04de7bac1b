/**
 * Hops: the way of a call, hop by hop: the stages here, and, for what another node did, what that node has on record.
 *
 *   here ──trace id──▶ there: its stages (bus_traces) · its entries (ledger_trace) · their proofs (ledger_proof)
 *
 * Each node keeps its own ledger. What the other one says is asked through the bus, like everything else.
 */
import type { JSX } from 'preact'
import type { LedgerEntryView, CallTraceView } from '../../../src/web/views.ts'
import { get } from '../core/api.ts'
import { ask } from '../core/ask.ts'
import { shortId, tookText } from '../core/format.ts'
import { booleanAt, listAt, numberAt, objectAt, stringAt } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import { useLoad } from '../core/load.ts'
import { line } from '../core/text.ts'
import type { Topology } from './bus-picture.tsx'
import { Entries } from './entries.tsx'
import { Facts } from './frame.tsx'
import { StageBar, STAGES } from './stages.tsx'
import { Loading } from './states.tsx'
import { ResultBadge, Words } from './words.tsx'

/** Nested calls to many nodes: the first few are asked, the rest have their trace id. */
const MAX_ASKED = 8

export function Hops({ traces }: { readonly traces: readonly CallTraceView[] }): JSX.Element {
  const far = [...new Set(traces.flatMap(({ isLocal, toNode }) => (isLocal || toNode === undefined ? [] : [toNode])))]
  return (
    <>
      <ol class="hops">
        {traces.map((trace) => (
          <Hop key={trace.ts + trace.capability + trace.ms} trace={trace} />
        ))}
      </ol>
      {far.slice(0, MAX_ASKED).map((node) => (
        <FarSide key={node} node={node} traceId={traces[0]?.traceId ?? ''} />
      ))}
    </>
  )
}

function Hop({ trace }: { readonly trace: CallTraceView }): JSX.Element {
  return (
    <li class={trace.isLocal ? 'hop' : 'hop remote'}>
      <p>
        <NodeName id={trace.fromNode} name={trace.fromName} />
        {trace.toNode === undefined || (trace.isLocal && trace.fromNode === trace.toNode) ? null : (
          <>
            {' '}
            → <NodeName id={trace.toNode} name={trace.toName} />
          </>
        )}{' '}
        <code>{line(trace.capability)}</code> <ResultBadge result={trace.result} /> {tookText(trace.ms)}
        {trace.attempts > 1 ? `, ${trace.attempts} attempts` : ''}
        {trace.frames > 0 ? `, ${trace.frames} frames` : ''}
      </p>
      <Stages trace={trace} />
    </li>
  )
}

function NodeName({ id, name }: { readonly id: string; readonly name: string | undefined }): JSX.Element {
  return (
    <strong title={line(id)}>
      <bdi>{name === undefined ? shortId(line(id)) : line(name, 40)}</bdi>
    </strong>
  )
}

function Stages({ trace }: { readonly trace: Pick<CallTraceView, 'ms' | 'stages'> }): JSX.Element {
  return (
    <>
      <StageBar trace={trace} />
      <Facts
        small
        of={STAGES.filter((name) => trace.stages[name] !== undefined).map((name) => [
          name,
          tookText(trace.stages[name] ?? 0),
        ])}
      />
    </>
  )
}

interface FarRecord {
  readonly name: string
  readonly origin: string
  readonly traces: readonly Json[]
  readonly entries: readonly LedgerEntryView[]
}

async function readFar(node: string, traceId: string): Promise<FarRecord> {
  const [topology, traced, kept] = await Promise.all([
    get<Topology>('/api/topology'),
    ask('bus_traces', { trace_id: traceId }, { node }),
    ask('ledger_trace', { trace_id: traceId }, { node }),
  ])
  const peer = topology.peers.find(({ nodeId }) => nodeId === node)
  return {
    name: line(peer?.displayName ?? shortId(node), 40),
    origin: line(stringAt(kept.data, 'origin') ?? '', 80),
    traces: listAt(traced.data, 'traces').filter((trace) => booleanAt(trace, 'is_local') === true),
    entries: listAt(kept.data, 'entries').map(entryOf),
  }
}

function FarSide({ node, traceId }: { readonly node: string; readonly traceId: string }): JSX.Element {
  const far = useLoad(() => readFar(node, traceId), [node, traceId])
  if (far.value === undefined && far.error === undefined) return <Loading what="The other node’s record" />
  if (far.value === undefined) {
    return (
      <p class="note">
        <Words text={shortId(node)} /> does not tell about it now: {line(far.error ?? '', 200)} Its own ledger has the
        call under the same trace id; there: <code>hearthbus trace {line(traceId, 64)}</code>
      </p>
    )
  }
  const { name, origin, traces, entries } = far.value
  return (
    <section class="far-side" aria-label={`On ${name}`}>
      <h3>
        On <bdi>{name}</bdi> <span class="aside">{origin}</span>
      </h3>
      {traces.map((trace, index) => (
        <div key={index} class="hop">
          <p>
            <code>{line(stringAt(trace, 'capability') ?? '')}</code>{' '}
            <ResultBadge result={stringAt(trace, 'result') ?? 'unknown'} /> {tookText(numberAt(trace, 'ms') ?? 0)}
          </p>
          <Stages trace={{ ms: numberAt(trace, 'ms') ?? 0, stages: stagesOf(trace) }} />
        </div>
      ))}
      {entries.length === 0 ? (
        <p class="aside">Its ledger says nothing about this call.</p>
      ) : (
        <Entries entries={entries} name={`${name}-entry`} proofOf={(seq) => farProof(node, seq)} />
      )}
    </section>
  )
}

async function farProof(node: string, seq: number): Promise<string> {
  const { data } = await ask('ledger_proof', { log_index: seq }, { node })
  return stringAt(data, 'proof') ?? ''
}

function entryOf(entry: Json): LedgerEntryView {
  return {
    seq: numberAt(entry, 'log_index') ?? -1,
    at: stringAt(entry, 'at') ?? '',
    kind: stringAt(entry, 'kind') ?? '',
    entry: objectAt(entry, 'entry'),
  }
}

function stagesOf(trace: Json): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(objectAt(trace, 'stages')).flatMap(([name, ms]) => (typeof ms === 'number' ? [[name, ms]] : [])),
  )
}
