/**
 * eBUS traffic: telegrams as they come, what comes regularly, and what nobody understands yet.
 *
 * Does I/O.
 */
import type { JSX } from 'preact'
import { ask } from '../core/ask.ts'
import { count } from '../core/format.ts'
import { listAt, numberAt, objectAt, stringAt } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import { useLoad } from '../core/load.ts'
import { telegramText } from '../core/telegram.ts'
import { line, textOf } from '../core/text.ts'
import { Section } from './frame.tsx'
import { Shown } from './states.tsx'
import { Table } from './table.tsx'
import { Badge, Time, Words } from './words.tsx'

export const MESSAGES = 'ebus.v1.bus.messages.list'
export const PERIODICITY = 'ebus.v1.bus.periodicity.list'
export const SPECIMENS = 'ebus.v1.bus.protocol_specimens.list'

/** Announced as telegrams come, several a second; read at most this often. */
const REST_MS = 5_000

export interface Turned {
  readonly turn: number
}

export function Messages({ turn }: Turned): JSX.Element {
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

export function Periodicity({ turn }: Turned): JSX.Element {
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

export function Specimens({ turn }: Turned): JSX.Element {
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

function hexByte(item: Json, field: string): string {
  const value = numberAt(item, field)
  return value === undefined ? '??' : value.toString(16).padStart(2, '0')
}
