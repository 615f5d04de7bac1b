/**
 * Approvals: what waits for a person's yes or no, and what was decided.
 *
 * Does I/O: it decides.
 */
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { ApprovalView, GrantView } from '../../../src/web/views.ts'
import { get, post, remove } from '../core/api.ts'
import { useAttempt } from '../core/attempt.ts'
import { leftText } from '../core/format.ts'
import { approvals, mayDecide, me, now, openApprovals, rememberApproval } from '../core/live.ts'
import { useLoad } from '../core/load.ts'
import { href } from '../core/route.ts'
import { line, textOf } from '../core/text.ts'
import { Page, Section } from '../parts/frame.tsx'
import { GrantDialog } from '../parts/grant-dialog.tsx'
import { Preview } from '../parts/preview.tsx'
import { Empty, Flaw, Loading, Shown } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'
import { Badge, EffectBadge, Time, Words } from '../parts/words.tsx'
import type { Tone } from '../parts/words.tsx'

const STATE_TONES: Readonly<Record<ApprovalView['state'], Tone>> = {
  requested: 'accent',
  approved: 'good',
  used: 'good',
  denied: 'bad',
  expired: 'calm',
}

export function ApprovalsPage(): JSX.Element {
  const open = openApprovals.value
  return (
    <Page title="Approvals" lead="What an agent asks for and only a person can allow.">
      <Section title="Waiting" note={open.length === 0 ? undefined : `${open.length}`}>
        {approvals.value === undefined ? (
          <Loading what="What waits" />
        ) : open.length === 0 ? (
          <Empty title="Nothing waits for you.">
            <p>When an agent wants to open a lock, or anything else that is sensitive, it appears here at once.</p>
          </Empty>
        ) : (
          <ul class="cards wide">
            {open.map((approval) => (
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

function Request({ approval }: { readonly approval: ApprovalView }): JSX.Element {
  const { shown, binding, id } = approval
  const [denying, setDenying] = useState(false)
  const [granting, setGranting] = useState(false)
  const { flaw, attempt } = useAttempt()
  const leftMs = approval.expiresAtMs - now.value
  const total = Math.max(1, approval.expiresAtMs - approval.requestedAtMs)
  const mine = binding.principal === me.value?.principal

  const decide = (path: 'approve' | 'deny', body: unknown): Promise<void> =>
    attempt(async () => {
      rememberApproval(await post<ApprovalView>(`/api/approvals/${encodeURIComponent(id)}/${path}`, body))
      // The button that had the focus is gone with its request.
      document.querySelector<HTMLElement>('main h1')?.focus()
    })
  return (
    <article class="card request" aria-label={`${line(shown.title)} by ${line(binding.principal)}`}>
      <header>
        <h3>
          <Words text={shown.title} />
          {shown.label === undefined ? null : (
            <>
              {' '}
              – <Words text={shown.label} />
            </>
          )}
        </h3>
        <EffectBadge effect={shown.effect} />
      </header>
      <p class="aside">
        <strong>
          <Words text={binding.principal} />
        </strong>
        {shown.client === undefined ? null : (
          <>
            {' '}
            (calls itself <Words text={shown.client} />)
          </>
        )}{' '}
        asked at <Time ms={approval.requestedAtMs} /> through {line(shown.channel)} to call{' '}
        <code>{line(binding.tool)}</code>
        {binding.target === undefined ? null : (
          <>
            {' '}
            on <code>{line(binding.target)}</code>
          </>
        )}
      </p>
      <Arguments of={shown.arguments} />
      {shown.preview === undefined ? null : <Preview preview={shown.preview} />}
      <div class="time-left">
        <progress max={total} value={Math.max(0, leftMs)} aria-label="Time left to answer" />
        <span>{leftMs > 0 ? `${leftText(leftMs)} left` : 'lapsed'}</span>
        <a href={href('calls', shown.traceId)}>The call</a>
      </div>
      <Flaw text={flaw} />
      {mine ? (
        <p class="note">
          You asked for this yourself. It takes another credential: <code>hearthbus approvals approve {id}</code>
        </p>
      ) : !mayDecide.value ? (
        <p class="note">Your role, {me.value?.role}, does not decide about approvals.</p>
      ) : denying ? (
        <Denial
          onDeny={(why) => void decide('deny', { reason: why === '' ? 'no reason given' : why })}
          onBack={() => setDenying(false)}
        />
      ) : (
        <div class="buttons">
          <button type="button" class="primary" onClick={() => void decide('approve', {})}>
            Approve once
          </button>
          <button type="button" onClick={() => setGranting(true)}>
            Approve more …
          </button>
          <button type="button" class="danger" onClick={() => setDenying(true)}>
            Deny …
          </button>
        </div>
      )}
      {granting ? (
        <GrantDialog
          approval={approval}
          onClose={() => setGranting(false)}
          onGrant={(grant) => {
            setGranting(false)
            void decide('approve', { grant })
          }}
        />
      ) : null}
    </article>
  )
}

function Denial({
  onDeny,
  onBack,
}: {
  readonly onDeny: (why: string) => void
  readonly onBack: () => void
}): JSX.Element {
  const [why, setWhy] = useState('')
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => input.current?.focus(), [])
  return (
    <form
      class="deny"
      onSubmit={(event) => {
        event.preventDefault()
        onDeny(why)
      }}
    >
      <label class="field">
        Why not (the agent reads it)
        <input ref={input} value={why} maxLength={500} onInput={({ currentTarget }) => setWhy(currentTarget.value)} />
      </label>
      <div class="buttons">
        <button type="submit" class="danger">
          Deny
        </button>
        <button type="button" class="quiet" onClick={onBack}>
          Back
        </button>
      </div>
    </form>
  )
}

/** The exact arguments, one by one: what is approved is these and no others. */
function Arguments({ of }: { readonly of: ApprovalView['shown']['arguments'] }): JSX.Element {
  const entries = Object.entries(of)
  if (entries.length === 0) return <p class="aside">No arguments.</p>
  return (
    <dl class="facts arguments">
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>
            <bdi>{line(name, 60)}</bdi>
          </dt>
          <dd>
            <bdi>{textOf(value, 600)}</bdi>
          </dd>
        </div>
      ))}
    </dl>
  )
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
              <Words text={shown.label === undefined ? shown.title : `${shown.title} – ${shown.label}`} />
            ),
          },
          {
            name: 'Asked by',
            width: 'minmax(0,1fr)',
            minor: true,
            cell: ({ binding }) => <Words text={binding.principal} />,
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
