/**
 * Reputation: how agents, devices and nodes have behaved, by domain, with the entries of the ledger behind each score.
 */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { ask } from '../core/ask.ts'
import { listAt, numberAt, stringAt } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import { toolNames } from '../core/live.ts'
import { useLoad } from '../core/load.ts'
import { line } from '../core/text.ts'
import { Dialog } from './dialog.tsx'
import { Section } from './frame.tsx'
import { Shown } from './states.tsx'
import { Table } from './table.tsx'
import { Badge, Time, Words } from './words.tsx'
import type { Tone } from './words.tsx'

const BOARD = 'reputation_leaderboard'
const DOMAINS = ['execution', 'social', 'commissioning', 'governance', 'arbitration'] as const
const LISTED = 200
/** Basis points: everybody begins here. */
const NEUTRAL = 5_000

export function ReputationBoard({ turn }: { readonly turn: string }): JSX.Element | null {
  const [open, setOpen] = useState<Json | undefined>(undefined)
  const board = useLoad(readBoard, [turn], 5_000)
  if (!toolNames.value.has(BOARD)) return null
  return (
    <Section
      title="Reputation"
      note="Computed from the ledger, 0 to 10000; 5000 is neutral. Open a row for its evidence."
    >
      <Shown of={board} what="Reputation">
        {(rows) => (
          <Table
            label="Reputation"
            rows={rows}
            rowKey={(row) => `${text(row, 'node_id')} ${text(row, 'domain')}`}
            height={360}
            onOpen={setOpen}
            empty={<p class="aside">Nobody has done anything that counts.</p>}
            columns={[
              { name: 'Who', width: 'minmax(0,2fr)', cell: (row) => <Words text={text(row, 'node_id')} /> },
              { name: 'In', width: 'minmax(0,1fr)', cell: (row) => <Words text={text(row, 'domain')} /> },
              { name: 'Score', width: '7rem', cell: score },
            ]}
          />
        )}
      </Shown>
      {open === undefined ? null : <Evidence row={open} onClose={() => setOpen(undefined)} />}
    </Section>
  )
}

async function readBoard(): Promise<readonly Json[]> {
  const boards = await Promise.all(DOMAINS.map((domain) => ask(BOARD, { domain, limit: LISTED })))
  // The lowest first: they are what an owner looks for.
  const rows = boards.flatMap(({ data }) => listAt(data, 'rows'))
  return rows.toSorted((one, other) => (numberAt(one, 'score') ?? 0) - (numberAt(other, 'score') ?? 0))
}

function Evidence({ row, onClose }: { readonly row: Json; readonly onClose: () => void }): JSX.Element {
  const [subject, domain] = [text(row, 'node_id'), text(row, 'domain')]
  const history = useLoad(
    async () => (await ask('reputation_history', { node_id: subject, domain, limit: LISTED })).data,
    [subject, domain],
    60_000,
  )
  return (
    <Dialog title={<bdi>{line(`${subject}: ${domain}`, 100)}</bdi>} onClose={onClose}>
      <Shown of={history} what="Evidence">
        {(told) => (
          <>
            <p class="aside">
              As of entry {numberAt(told, 'as_of_size') ?? 0}, formula{' '}
              <code>{line(stringAt(told, 'formula_hash') ?? '', 16)}…</code>
            </p>
            <Table
              label="Evidence"
              rows={listAt(told, 'events')}
              rowKey={(event) => text(event, 'id')}
              height={360}
              empty={<p class="aside">None.</p>}
              columns={[
                { name: 'When', width: '8rem', cell: (event) => <Time ms={Date.parse(text(event, 'at'))} /> },
                { name: 'What', width: 'minmax(0,2fr)', cell: (event) => <Words text={text(event, 'event')} /> },
                { name: 'Entry', width: '6rem', cell: (event) => <code>#{numberAt(event, 'log_index') ?? 0}</code> },
                { name: 'Counted', width: '6rem', cell: (event) => String(numberAt(event, 'delta_bps') ?? 0) },
                { name: 'After', width: '6rem', cell: (event) => String(numberAt(event, 'score') ?? 0) },
              ]}
            />
          </>
        )}
      </Shown>
    </Dialog>
  )
}

function score(row: Json): JSX.Element {
  const value = numberAt(row, 'score') ?? 0
  const tone: Tone = value < NEUTRAL ? 'bad' : value > NEUTRAL ? 'good' : 'calm'
  return <Badge tone={tone}>{String(value)}</Badge>
}

function text(value: Json, field: string): string {
  return stringAt(value, field) ?? ''
}
