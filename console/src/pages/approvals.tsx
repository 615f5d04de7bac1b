/**
 * Approvals: what waits for a person's yes or no, and what was decided.
 *
 * Does I/O: it decides.
 */
import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import type { ApprovalView, GrantView } from '../../../src/web/views.ts'
import { get, remove } from '../core/api.ts'
import { useAttempt } from '../core/attempt.ts'
import { askerOf } from '../core/format.ts'
import { approvals, mayDecide, openApprovals } from '../core/live.ts'
import { useLoad } from '../core/load.ts'
import { href } from '../core/route.ts'
import { line } from '../core/text.ts'
import { waitingNow } from '../core/waiting.ts'
import { Page, Section } from '../parts/frame.tsx'
import { Request } from '../parts/request.tsx'
import { Empty, Flaw, Loading, Shown } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'
import { Badge, Time, Words } from '../parts/words.tsx'
import type { Tone } from '../parts/words.tsx'

const STATE_TONES: Readonly<Record<ApprovalView['state'], Tone>> = {
  requested: 'accent',
  approved: 'good',
  used: 'good',
  denied: 'bad',
  expired: 'calm',
}

export function ApprovalsPage(): JSX.Element {
  const open = openApprovals.value.length
  const shown = useShown()
  return (
    <Page title="Approvals" lead="What an agent asks for and only a person can allow.">
      <Section title="Waiting" note={open > 0 ? `${open}` : shown.length > 0 ? 'Nothing waits for you.' : undefined}>
        {approvals.value === undefined ? (
          <Loading what="What waits" />
        ) : shown.length === 0 ? (
          <Empty title="Nothing waits for you.">
            <p>When an agent wants to open a lock, or anything else that is sensitive, it appears here at once.</p>
          </Empty>
        ) : (
          <ul class="cards wide">
            {shown.map((approval) => (
              <li key={approval.id}>
                <Request approval={approval} />
              </li>
            ))}
          </ul>
        )}
      </Section>
      <Grants />
      <Past />
    </Page>
  )
}

/** Oldest first: what comes is put after what somebody may be about to answer. */
function useShown(): readonly ApprovalView[] {
  const ids = useRef<ReadonlySet<string>>(new Set())
  const all = approvals.value ?? []
  ids.current = waitingNow(ids.current, all)
  return all.filter(({ id }) => ids.current.has(id)).toReversed()
}

function Grants(): JSX.Element | null {
  const grants = useLoad(() => get<readonly GrantView[]>('/api/grants'), [approvals.value])
  const { flaw, attempt } = useAttempt()
  const end = (id: string): Promise<void> =>
    attempt(async () => {
      await remove(`/api/grants/${encodeURIComponent(id)}`)
      grants.reload()
    })
  if (grants.value?.length === 0) return null
  return (
    <Section title="Grants in force" note="Bounded yeses that you gave beforehand.">
      <Flaw text={flaw} />
      <Shown of={grants} what="What is granted">
        {(list) => (
          <Table
            label="Grants in force"
            rows={list}
            rowKey={({ id }) => id}
            columns={[
              { name: 'For', width: 'minmax(0,1fr)', cell: ({ principal }) => <Words text={principal} /> },
              { name: 'Tool', width: 'minmax(0,2fr)', cell: ({ tool }) => <code>{line(tool)}</code> },
              { name: 'Device', width: 'minmax(0,2fr)', minor: true, cell: ({ target }) => line(target ?? 'any') },
              { name: 'Used', width: '6rem', minor: true, cell: ({ uses, maxUses }) => `${uses} of ${maxUses}` },
              { name: 'Until', width: '8rem', minor: true, cell: ({ expiresAtMs }) => <Time ms={expiresAtMs} /> },
              {
                name: 'End',
                width: '6rem',
                cell: ({ id }) => (
                  <button type="button" class="small" disabled={!mayDecide.value} onClick={() => void end(id)}>
                    End it
                  </button>
                ),
              },
            ]}
          />
        )}
      </Shown>
    </Section>
  )
}

function Past(): JSX.Element {
  const past = (approvals.value ?? []).filter(({ state }) => state !== 'requested')
  return (
    <Section title="History">
      <Table
        label="Decided requests"
        rows={past}
        rowKey={({ id }) => id}
        onOpen={({ shown }) => {
          location.hash = href('calls', shown.traceId)
        }}
        empty={<p class="aside">Nothing was decided yet.</p>}
        columns={[
          {
            name: 'When',
            width: '8rem',
            minor: true,
            cell: ({ decidedAtMs, requestedAtMs }) => <Time ms={decidedAtMs ?? requestedAtMs} />,
          },
          { name: 'State', width: '7rem', cell: ({ state }) => <Badge tone={STATE_TONES[state]}>{state}</Badge> },
          {
            name: 'What',
            width: 'minmax(0,3fr)',
            cell: ({ shown }) => (
              // The device first: on a phone there is no room for more.
              <Words text={shown.label === undefined ? shown.title : `${shown.label} – ${shown.title}`} />
            ),
          },
          {
            name: 'Asked by',
            width: 'minmax(0,1fr)',
            minor: true,
            cell: (approval) => <Words text={askerOf(approval)} />,
          },
          {
            name: 'Decided by',
            width: 'minmax(0,1fr)',
            minor: true,
            cell: ({ decidedBy }) => <Words text={decidedBy ?? '–'} />,
          },
          { name: 'Reason', width: 'minmax(0,2fr)', minor: true, cell: ({ reason }) => <Words text={reason ?? ''} /> },
        ]}
      />
    </Section>
  )
}
