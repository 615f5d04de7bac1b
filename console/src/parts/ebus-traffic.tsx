/** eBUS traffic: telegrams as they come, with what they say; what comes regularly; and what nobody understands yet. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { ask } from '../core/ask.ts'
import { count } from '../core/format.ts'
import { listAt, numberAt, objectAt, stringAt } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import { useLoad } from '../core/load.ts'
import { hexText, saidText, telegramOf } from '../core/telegram.ts'
import type { Telegram } from '../core/telegram.ts'
import { line, textOf } from '../core/text.ts'
import { Dialog } from './dialog.tsx'
import { Facts, Section } from './frame.tsx'
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
  const [open, setOpen] = useState<Telegram | undefined>(undefined)
  const messages = useLoad(
    async () =>
      listAt((await ask(MESSAGES, { limit: 300, payload: true })).data, 'items')
        .map(telegramOf)
        .toReversed(),
    [turn],
    REST_MS,
  )
  return (
    <Section title="Telegrams" note="Newest first; open one for all that it says.">
      <Shown of={messages} what="Telegrams">
        {(items) => (
          <Table
            label="Telegrams"
            rows={items.map((item, index) => ({ item, index }))}
            rowKey={({ item, index }) => `${item.atMs} ${index}`}
            height={400}
            onOpen={({ item }) => setOpen(item)}
            empty={<p class="aside">None was heard yet.</p>}
            columns={[
              { name: 'Time', width: '6rem', minor: true, cell: ({ item }) => <Time ms={item.atMs} /> },
              {
                name: 'From → to',
                width: '6.5rem',
                minor: true,
                cell: ({ item }) => (
                  <span class="mono">
                    {item.from} → {item.to}
                  </span>
                ),
              },
              { name: 'About', width: 'minmax(0,2fr)', cell: ({ item }) => <Words text={item.about} /> },
              { name: 'Says', width: 'minmax(0,3fr)', cell: ({ item }) => <Said telegram={item} /> },
              { name: 'Outcome', width: '11rem', minor: true, cell: ({ item }) => <Outcome text={item.outcome} /> },
            ]}
          />
        )}
      </Shown>
      {open === undefined ? null : <TelegramDialog telegram={open} onClose={() => setOpen(undefined)} />}
    </Section>
  )
}

function Said({ telegram }: { readonly telegram: Telegram }): JSX.Element {
  if (telegram.fields.length > 0) return <Words text={saidText(telegram)} max={300} />
  if (telegram.known !== false) return <code>{telegram.request === '' ? '–' : telegram.request}</code>
  return (
    <>
      <Unknown /> <code>{telegram.request}</code>
    </>
  )
}

function Unknown(): JSX.Element {
  return <Badge tone="accent">nobody knows this yet</Badge>
}

function Outcome({ text }: { readonly text: string }): JSX.Element {
  return <Badge tone={text === 'success' ? 'good' : 'warn'}>{line(text, 30)}</Badge>
}

function TelegramDialog({
  telegram,
  onClose,
}: {
  readonly telegram: Telegram
  readonly onClose: () => void
}): JSX.Element {
  const { about, act, from, to, family, kind, outcome, fields, known } = telegram
  return (
    <Dialog title={<bdi>{about === '' ? 'Telegram' : about}</bdi>} onClose={onClose}>
      <Facts
        of={[
          ['Heard', <Time key="heard" ms={telegram.atMs} />],
          [
            'From → to',
            <span key="way" class="mono">
              {from} → {to}
            </span>,
          ],
          ['Family', <Words key="family" text={family} />],
          ['Kind', <Words key="kind" text={act === '' ? kind : `${act}, ${kind}`} />],
          ['Outcome', <Outcome key="outcome" text={outcome} />],
        ]}
      />
      {known === false ? (
        <p>
          <Unknown /> These are its bytes.
        </p>
      ) : null}
      {fields.length === 0 ? null : (
        <Facts of={fields.map(({ name, value }, index) => [name, <bdi key={index}>{value}</bdi>])} />
      )}
      <Bytes request={telegram.request} response={telegram.response} />
    </Dialog>
  )
}

function Bytes({ request, response }: { readonly request: string; readonly response: string }): JSX.Element | null {
  if (request === '' && response === '') return null
  return (
    <Facts
      of={[
        ['Asked', <code key="asked">{request === '' ? '–' : request}</code>],
        ['Answered', <code key="answered">{response === '' ? 'nothing' : response}</code>],
      ]}
    />
  )
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
                minor: true,
                cell: (item) => (
                  <span class="mono">
                    {line(`${stringAt(item, 'source_bucket') ?? ''} → ${stringAt(item, 'target_bucket') ?? ''}`)}
                  </span>
                ),
              },
              { name: 'About', width: 'minmax(0,2fr)', cell: (item) => <Words text={telegramOf(item).about} /> },
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
                minor: true,
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
  const [open, setOpen] = useState<Json | undefined>(undefined)
  const items = useLoad(async () => listAt((await ask(SPECIMENS, { limit: 200 })).data, 'items'), [turn], REST_MS * 2)
  return (
    <Section title="Unknown telegrams" note={<Unknown />}>
      <Shown of={items} what="Specimens">
        {(list) => (
          <Table
            label="Unknown telegrams"
            rows={list.map((item, index) => ({ item, index }))}
            rowKey={({ item, index }) => `${stringAt(item, 'request_hex') ?? ''} ${index}`}
            height={320}
            onOpen={({ item }) => setOpen(item)}
            empty={<p class="aside">All that was heard is known.</p>}
            columns={[
              {
                name: 'Asked',
                width: 'minmax(0,2fr)',
                cell: ({ item }) => <code>{hexText(stringAt(item, 'request_hex') ?? '')}</code>,
              },
              {
                name: 'Answered',
                width: 'minmax(0,2fr)',
                minor: true,
                cell: ({ item }) => <code>{hexText(stringAt(item, 'response_hex') ?? '')}</code>,
              },
              { name: 'Times', width: '5rem', cell: ({ item }) => count(numberAt(item, 'count') ?? 0) },
              {
                name: 'Last',
                width: '7rem',
                minor: true,
                cell: ({ item }) => <Time ms={Date.parse(stringAt(item, 'last_seen_at') ?? '')} />,
              },
            ]}
          />
        )}
      </Shown>
      {open === undefined ? null : <SpecimenDialog item={open} onClose={() => setOpen(undefined)} />}
    </Section>
  )
}

function SpecimenDialog({ item, onClose }: { readonly item: Json; readonly onClose: () => void }): JSX.Element {
  return (
    <Dialog title="Unknown telegram" onClose={onClose}>
      <p>
        <Unknown />
      </p>
      <Facts
        of={[
          ['Family', <Words key="family" text={stringAt(item, 'family') ?? ''} />],
          ['Heard', `${count(numberAt(item, 'count') ?? 0)} times`],
          ['First', <Time key="first" ms={Date.parse(stringAt(item, 'first_seen_at') ?? '')} />],
          ['Last', <Time key="last" ms={Date.parse(stringAt(item, 'last_seen_at') ?? '')} />],
        ]}
      />
      <Bytes
        request={hexText(stringAt(item, 'request_hex') ?? '')}
        response={hexText(stringAt(item, 'response_hex') ?? '')}
      />
    </Dialog>
  )
}
