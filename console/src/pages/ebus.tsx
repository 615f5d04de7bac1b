/** eBUS: what the wire says, how well it is heard, and the weekly schedules. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { adapterFacts } from '../core/adapter.ts'
import { ask } from '../core/ask.ts'
import { count } from '../core/format.ts'
import { booleanAt, listAt, numberAt, objectAt, stringAt } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import { toolNames } from '../core/live.ts'
import { useLoad } from '../core/load.ts'
import { line } from '../core/text.ts'
import { useResourceTurn } from '../core/turn.ts'
import { MESSAGES, Messages, PERIODICITY, Periodicity, SPECIMENS, Specimens } from '../parts/ebus-traffic.tsx'
import type { Turned } from '../parts/ebus-traffic.tsx'
import { Facts, Page, Section } from '../parts/frame.tsx'
import { ScheduleEditor } from '../parts/schedule-editor.tsx'
import { Empty, Shown } from '../parts/states.tsx'
import { Age, Badge } from '../parts/words.tsx'

const SUMMARY = 'ebus.v1.bus.summary.get'
const ADAPTERS = ['ebus.v1.adapter_info.get', 'ebus.v1.semantic.adapter_info.get']
const SCHEDULES = 'ebus.v1.semantic.schedules.get'

/** Announced as telegrams come, several a second; read at most this often. */
const REST_MS = 5_000

export function EbusPage(): JSX.Element {
  const names = toolNames.value
  const [held, setHeld] = useState(false)
  const turn = useResourceTurn({ prefix: 'ebus:', suffix: '/bus', held })
  if (![...names].some((name) => name.startsWith('ebus.'))) {
    return (
      <Page title="eBUS">
        <Empty title="No eBUS is connected.">
          <p>
            Name an adapter in <code>hearthbus.yaml</code>:{' '}
            <code>ebus: &#123; buses: [&#123; adapter: enh:192.168.1.9:9999 &#125;] &#125;</code>
          </p>
        </Empty>
      </Page>
    )
  }
  const adapter = ADAPTERS.find((name) => names.has(name))
  return (
    <Page
      title="eBUS"
      actions={
        <button type="button" aria-pressed={held} onClick={() => setHeld(!held)}>
          {held ? 'Go on' : 'Hold still'}
        </button>
      }
    >
      {names.has(SUMMARY) ? <Summary turn={turn} /> : null}
      {names.has(SCHEDULES) ? <Schedules /> : null}
      {names.has(MESSAGES) ? <Messages turn={turn} /> : null}
      {names.has(PERIODICITY) ? <Periodicity turn={turn} /> : null}
      {names.has(SPECIMENS) ? <Specimens turn={turn} /> : null}
      {adapter === undefined ? null : <Adapter tool={adapter} />}
    </Page>
  )
}

function Summary({ turn }: Turned): JSX.Element {
  const summary = useLoad(async () => (await ask(SUMMARY)).data, [turn], REST_MS)
  return (
    <Section title="Signal">
      <Shown of={summary} what="The bus">
        {(data) => {
          const warmUp = objectAt(data, 'status', 'warmup')
          const state = stringAt(data, 'status', 'capability', 'passive_state') ?? 'unknown'
          const [done, needed] = [
            numberAt(warmUp, 'completed_transactions') ?? 0,
            numberAt(warmUp, 'required_transactions') ?? 0,
          ]
          const reasons = listAt(data, 'status', 'degraded', 'reasons')
          return (
            <>
              <Facts
                of={[
                  [
                    'Listening',
                    <Badge
                      key="state"
                      tone={state === 'available' ? 'good' : state === 'warming_up' ? 'accent' : 'bad'}
                    >
                      {line(state.replaceAll('_', ' '))}
                    </Badge>,
                  ],
                  ['Adapter', line(stringAt(data, 'status', 'transport_class') ?? '–')],
                  [
                    'Tap',
                    booleanAt(data, 'status', 'capability', 'tap_connected') === true ? 'connected' : 'not connected',
                  ],
                  ['Symbols', symbolText(data)],
                  ['Busy', busyText(data)],
                  [
                    'Telegrams kept',
                    `${count(numberAt(data, 'messages', 'count') ?? 0)} of ${count(numberAt(data, 'messages', 'capacity') ?? 0)}`,
                  ],
                ]}
              />
              {state === 'available' ? null : (
                <div>
                  <progress max={Math.max(1, needed)} value={done} aria-label="Warm-up" />
                  <p class="aside">
                    Warm-up: {done} of {needed} telegrams.{' '}
                    {stringAt(warmUp, 'blocker') === undefined
                      ? ''
                      : `It waits for: ${line(stringAt(warmUp, 'blocker') ?? '').replaceAll('_', ' ')}.`}
                  </p>
                </div>
              )}
              {reasons.length === 0 ? null : <p class="note warn">Degraded: {line(reasons.map(String).join(', '))}</p>}
            </>
          )
        }}
      </Shown>
    </Section>
  )
}

/** What was not measured is unknown, and not nought. */
function symbolText(data: Json): string {
  const perSecond = numberAt(data, 'symbols', 'per_second')
  if (perSecond === undefined) return 'unknown'
  const most = numberAt(data, 'symbols', 'max_per_second')
  return `${Math.round(perSecond)} a second${most === undefined ? '' : `, ${Math.round(most)} at most`}`
}

function busyText(data: Json): string {
  const windows = listAt(data, 'busy', 'windows').flatMap((window) => {
    const ratio = numberAt(window, 'ratio')
    return ratio === undefined ? [] : [`${(ratio * 100).toFixed(1)} % in ${line(stringAt(window, 'window') ?? '', 10)}`]
  })
  return windows.length === 0 ? 'unknown' : windows.join(', ')
}

function Adapter({ tool }: { readonly tool: string }): JSX.Element {
  const info = useLoad(async () => (await ask(tool)).data, [tool])
  return (
    <Section title="Adapter">
      <Shown of={info} what="The adapter">
        {(data) => {
          const facts = adapterFacts(data)
          if (facts.length === 0) return <p class="aside">This adapter tells nothing about itself.</p>
          return (
            <Facts
              of={facts.map(({ name, text, atMs }) => [
                name,
                atMs === undefined ? <bdi key={name}>{text}</bdi> : <Age key={name} ms={atMs} />,
              ])}
            />
          )
        }}
      </Shown>
    </Section>
  )
}

function Schedules(): JSX.Element {
  const turn = useResourceTurn({ prefix: 'ebus:', suffix: '/schedules' })
  const programs = useLoad(async () => listAt((await ask(SCHEDULES)).data, 'programs'), [turn], REST_MS)
  return (
    <Section title="Weekly schedules">
      <Shown of={programs} what="Schedules">
        {(list) =>
          list.length === 0 ? (
            <Empty title="No schedule is known yet.">
              <p>
                They are read after everything else.{' '}
                <button type="button" class="link" onClick={programs.reload}>
                  Look again
                </button>
              </p>
            </Empty>
          ) : (
            <ScheduleEditor programs={list} onChanged={programs.reload} />
          )
        }
      </Shown>
    </Section>
  )
}
