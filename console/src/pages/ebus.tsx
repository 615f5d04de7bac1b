/**
 * eBUS: what the wire says, how well it is heard, and the weekly schedules.
 *
 * Does I/O.
 */
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ask } from '../core/ask.ts'
import { count } from '../core/format.ts'
import { booleanAt, listAt, numberAt, objectAt, stringAt } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import { onResources, toolNames } from '../core/live.ts'
import { useLoad } from '../core/load.ts'
import { telegramText } from '../core/telegram.ts'
import { line, textOf } from '../core/text.ts'
import { Facts, Page, Section } from '../parts/frame.tsx'
import { ScheduleEditor } from '../parts/schedule-editor.tsx'
import { Empty, Shown } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'
import { Badge, Time, Words } from '../parts/words.tsx'

const SUMMARY = 'ebus.v1.bus.summary.get'
const MESSAGES = 'ebus.v1.bus.messages.list'
const PERIODICITY = 'ebus.v1.bus.periodicity.list'
const SPECIMENS = 'ebus.v1.bus.protocol_specimens.list'
const ADAPTERS = ['ebus.v1.adapter_info.get', 'ebus.v1.semantic.adapter_info.get']
const SCHEDULES = 'ebus.v1.semantic.schedules.get'

/** Announced as telegrams come, several a second; read at most this often. */
const REST_MS = 5_000

/** Counts up when that topic of a bus was announced, unless somebody wants to look in peace. */
function useBusTurn(topic: string, held = false): number {
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    if (held) return
    const isIt = (uri: string): boolean => uri.startsWith('ebus:') && uri.endsWith(`/${topic}`)
    return onResources((uris) => uris.some(isIt) && setTurn((old) => old + 1))
  }, [topic, held])
  return turn
}

export function EbusPage(): JSX.Element {
  const names = toolNames.value
  const [held, setHeld] = useState(false)
  const turn = useBusTurn('bus', held)
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

interface Turned {
  readonly turn: number
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
          const [busy] = listAt(data, 'busy', 'windows')
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
                  ...(rate(data) === undefined ? [] : [['Symbols', rate(data)] as const]),
                  [
                    'Busy',
                    busy === undefined
                      ? line(stringAt(data, 'status', 'timing_quality', 'busy') ?? '–')
                      : `${((numberAt(busy, 'ratio') ?? 0) * 100).toFixed(1)} % (${line(stringAt(busy, 'window') ?? '')})`,
                  ],
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

function rate(data: Json): string | undefined {
  const perSecond = numberAt(data, 'symbols', 'per_second') ?? numberAt(data, 'symbol_rate')
  const total = numberAt(data, 'symbols', 'total')
  if (perSecond !== undefined) return `${Math.round(perSecond)} a second`
  return total === undefined ? undefined : `${count(total)} heard`
}

function Messages({ turn }: Turned): JSX.Element {
  const messages = useLoad(
    async () => listAt((await ask(MESSAGES, { limit: 300 })).data, 'items').toReversed(),
    [turn],
    REST_MS,
  )
  return (
    <Section title="Telegrams" note="Newest first.">
      <Shown of={messages} what="Telegrams">
        {(items) => (
          <Table
            label="Telegrams"
            rows={items.map((item, index) => ({ item, index }))}
            rowKey={({ item, index }) => `${stringAt(item, 'observed_at') ?? ''} ${index}`}
            height={400}
            empty={<p class="aside">None was heard yet.</p>}
            columns={[
              {
                name: 'Time',
                width: '7rem',
                cell: ({ item }) => <Time ms={Date.parse(stringAt(item, 'observed_at') ?? '')} />,
              },
              {
                name: 'From → to',
                width: '8rem',
                cell: ({ item }) => (
                  <span class="mono">
                    {hexByte(item, 'source_address')} → {hexByte(item, 'target_address')}
                  </span>
                ),
              },
              { name: 'Family', width: '6rem', cell: ({ item }) => <Words text={stringAt(item, 'family') ?? ''} /> },
              {
                name: 'Means',
                width: 'minmax(0,2fr)',
                minor: true,
                cell: ({ item }) => <Words text={meaning(item)} />,
              },
              {
                name: 'Kind',
                width: 'minmax(0,1fr)',
                minor: true,
                cell: ({ item }) => line((stringAt(item, 'frame_type') ?? '').replaceAll('_', ' ')),
              },
              {
                name: 'Outcome',
                width: '8rem',
                cell: ({ item }) => <Outcome text={stringAt(item, 'outcome') ?? ''} />,
              },
            ]}
          />
        )}
      </Shown>
    </Section>
  )
}

/** Decoded values, where the family adds them to what the contract has. */
function meaning(item: Json): string {
  const decoded =
    item !== null && typeof item === 'object' ? (objectAt(item)['decoded'] ?? objectAt(item)['meaning']) : undefined
  if (decoded !== undefined) return textOf(decoded, 160)
  const command = telegramText(numberAt(item, 'primary'), numberAt(item, 'secondary')) ?? stringAt(item, 'family') ?? ''
  return `${command}, ${numberAt(item, 'request_len') ?? 0} bytes asked, ${numberAt(item, 'response_len') ?? 0} answered`
}

function Outcome({ text }: { readonly text: string }): JSX.Element {
  return <Badge tone={text === 'success' ? 'good' : 'warn'}>{line(text.replaceAll('_', ' '), 30)}</Badge>
}

function Periodicity({ turn }: Turned): JSX.Element {
  const items = useLoad(async () => listAt((await ask(PERIODICITY)).data, 'items').toReversed(), [turn], REST_MS * 2)
  return (
    <Section title="What comes regularly">
      <Shown of={items} what="Periods">
        {(list) => (
          <Table
            label="Periodicity"
            rows={list}
            rowKey={(item) =>
              ['source_bucket', 'target_bucket', 'primary', 'secondary']
                .map((field) => textOf(objectAt(item)[field]))
                .join(' ')
            }
            height={320}
            empty={<p class="aside">Nothing has come often enough yet.</p>}
            columns={[
              {
                name: 'From → to',
                width: '9rem',
                cell: (item) => (
                  <span class="mono">
                    {line(`${stringAt(item, 'source_bucket') ?? ''} → ${stringAt(item, 'target_bucket') ?? ''}`)}
                  </span>
                ),
              },
              { name: 'Family', width: '6rem', cell: (item) => <Words text={stringAt(item, 'family') ?? ''} /> },
              { name: 'Every', width: '7rem', cell: (item) => line(stringAt(item, 'mean_interval') ?? '–') },
              {
                name: 'Between',
                width: 'minmax(0,1fr)',
                minor: true,
                cell: (item) =>
                  line(`${stringAt(item, 'min_interval') ?? '–'} and ${stringAt(item, 'max_interval') ?? '–'}`),
              },
              { name: 'Heard', width: '6rem', minor: true, cell: (item) => count(numberAt(item, 'sample_count') ?? 0) },
              {
                name: 'Last',
                width: '7rem',
                cell: (item) => <Time ms={Date.parse(stringAt(item, 'last_seen') ?? '')} />,
              },
            ]}
          />
        )}
      </Shown>
    </Section>
  )
}

function Specimens({ turn }: Turned): JSX.Element {
  const items = useLoad(async () => listAt((await ask(SPECIMENS, { limit: 200 })).data, 'items'), [turn], REST_MS * 2)
  return (
    <Section title="Unknown telegrams" note="Nobody has said yet what they mean.">
      <Shown of={items} what="Specimens">
        {(list) => (
          <Table
            label="Unknown telegrams"
            rows={list.map((item, index) => ({ item, index }))}
            rowKey={({ index }) => String(index)}
            height={320}
            empty={<p class="aside">All that was heard is known.</p>}
            columns={[
              { name: 'Family', width: '6rem', cell: ({ item }) => <Words text={stringAt(item, 'family') ?? ''} /> },
              {
                name: 'Asked',
                width: 'minmax(0,2fr)',
                cell: ({ item }) => <code>{line(stringAt(item, 'request_hex') ?? '', 80)}</code>,
              },
              {
                name: 'Answered',
                width: 'minmax(0,1fr)',
                minor: true,
                cell: ({ item }) => <code>{line(stringAt(item, 'response_hex') ?? '', 80)}</code>,
              },
              { name: 'Times', width: '5rem', cell: ({ item }) => count(numberAt(item, 'count') ?? 0) },
            ]}
          />
        )}
      </Shown>
    </Section>
  )
}

function Adapter({ tool }: { readonly tool: string }): JSX.Element {
  const info = useLoad(async () => (await ask(tool)).data, [tool])
  return (
    <Section title="Adapter">
      <Shown of={info} what="The adapter">
        {(data) => {
          const facts = Object.entries(objectAt(data)).filter(
            ([, value]) => value === null || typeof value !== 'object',
          )
          if (facts.length === 0) return <p class="aside">This adapter tells nothing about itself.</p>
          return (
            <Facts
              of={facts.map(([name, value]) => [
                line(name.replaceAll('_', ' '), 40),
                <bdi key={name}>{textOf(value, 80)}</bdi>,
              ])}
            />
          )
        }}
      </Shown>
    </Section>
  )
}

function Schedules(): JSX.Element {
  const turn = useBusTurn('schedules')
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

function hexByte(item: Json, field: string): string {
  const value = numberAt(item, field)
  return value === undefined ? '??' : value.toString(16).padStart(2, '0')
}
