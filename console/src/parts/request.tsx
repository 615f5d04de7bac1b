/**
 * Request: one thing that waits for a person's yes or no: who asks for what, exactly, what it would change, and the
 * answer, whoever gives it.
 *
 * Does I/O: it decides.
 */
import type { JSX } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { ApprovalView } from '../../../src/web/views.ts'
import { post } from '../core/api.ts'
import { useAttempt } from '../core/attempt.ts'
import { askerOf, leftText } from '../core/format.ts'
import { mayDecide, me, now, rememberApproval } from '../core/live.ts'
import { href } from '../core/route.ts'
import { line, textOf } from '../core/text.ts'
import { GrantDialog } from './grant-dialog.tsx'
import { Preview } from './preview.tsx'
import { Flaw } from './states.tsx'
import { EffectBadge, Time, Words } from './words.tsx'

export function Request({ approval }: { readonly approval: ApprovalView }): JSX.Element {
  const { shown, binding, id } = approval
  const [denying, setDenying] = useState(false)
  const [granting, setGranting] = useState(false)
  const { flaw, busy, attempt } = useAttempt()
  const isOpen = approval.state === 'requested'
  const isYes = approval.state === 'approved'
  const cannot = obstacleTo(approval)
  const { card, verdict } = useFocusOnVerdict(approval.state)

  const decide = async (path: 'approve' | 'deny', body: unknown): Promise<void> => {
    if (busy) return
    await attempt(async () =>
      rememberApproval(await post<ApprovalView>(`/api/approvals/${encodeURIComponent(id)}/${path}`, body)),
    )
  }
  return (
    <article
      ref={card}
      class={isOpen ? 'card request open' : 'card request'}
      aria-label={`${line(shown.title)} by ${line(askerOf(approval))}`}
    >
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
          <Words text={askerOf(approval)} />
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
      {shown.preview === undefined ? null : <Preview preview={shown.preview} />}
      <Votes approval={approval} />
      <Arguments of={shown.arguments} />
      <div class="time-left">
        {isOpen ? <TimeLeft approval={approval} /> : null}
        <a href={href('calls', shown.traceId)}>The call</a>
      </div>
      <Flaw text={flaw} />
      {isOpen ? null : (
        <p class="note" role="status" tabIndex={-1} ref={verdict}>
          <Verdict approval={approval} />
        </p>
      )}
      {isOpen && cannot !== undefined ? <p class="note">{cannot}</p> : null}
      {cannot !== undefined || (!isOpen && !isYes) ? null : denying ? (
        <Denial
          onDeny={(why) => void decide('deny', { reason: why === '' ? 'no reason given' : why })}
          onBack={() => setDenying(false)}
        />
      ) : (
        <div class="buttons">
          {isOpen ? (
            <>
              <button type="button" class="primary" onClick={() => void decide('approve', {})}>
                {busy ? 'Sending …' : 'Approve once'}
              </button>
              {approval.round === undefined ? (
                <button type="button" onClick={() => setGranting(true)}>
                  Approve more …
                </button>
              ) : null}
            </>
          ) : null}
          <button type="button" class="danger" onClick={() => setDenying(true)}>
            {isOpen ? 'Deny …' : 'Take it back …'}
          </button>
        </div>
      )}
      {granting && isOpen ? (
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

/** Why whoever looks cannot answer this one. */
function obstacleTo({ id, binding }: ApprovalView): JSX.Element | undefined {
  if (binding.principal === me.value?.principal)
    return (
      <>
        You asked for this yourself. It takes another credential: <code>hearthbus approvals approve {id}</code>
      </>
    )
  return mayDecide.value ? undefined : <>Your role, {me.value?.role}, does not decide about approvals.</>
}

/** Whoever was on a button that went with the question goes on reading at the answer, also where others gave it. */
function useFocusOnVerdict(state: ApprovalView['state']) {
  const card = useRef<HTMLElement>(null)
  const verdict = useRef<HTMLParagraphElement>(null)
  // Asked while the button is still there.
  const isWithin = card.current?.contains(document.activeElement) === true
  useLayoutEffect(() => {
    if (isWithin && document.activeElement === document.body) verdict.current?.focus({ preventScroll: true })
  }, [state])
  return { card, verdict }
}

function TimeLeft({ approval: { requestedAtMs, expiresAtMs } }: { readonly approval: ApprovalView }): JSX.Element {
  const leftMs = expiresAtMs - now.value
  return (
    <>
      <progress
        max={Math.max(1, expiresAtMs - requestedAtMs)}
        value={Math.max(0, leftMs)}
        aria-label="Time left to answer"
      />
      <span>{leftMs > 0 ? `${leftText(leftMs)} left` : 'lapsed'}</span>
    </>
  )
}

function Verdict({ approval }: { readonly approval: ApprovalView }): JSX.Element {
  const { state, expiresAtMs, usedAtMs, reason = '' } = approval
  const by = <Words text={approval.decidedBy ?? 'somebody'} />
  if (state === 'approved')
    return (
      <>
        Approved by {by}. The call can be made until <Time ms={expiresAtMs} />.
      </>
    )
  if (state === 'used')
    return (
      <>
        Approved by {by}, and the call was made at <Time ms={usedAtMs ?? NaN} />.
      </>
    )
  if (state === 'denied')
    return (
      <>
        Denied by {by}: <Words text={reason} max={1_000} />
      </>
    )
  return (
    <>
      Lapsed: <Words text={reason} max={1_000} />.
    </>
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
  // Before the next key is pressed.
  useLayoutEffect(() => input.current?.focus(), [])
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

/** Where several have to agree: who has said what. */
function Votes({ approval: { round } }: { readonly approval: ApprovalView }): JSX.Element | null {
  if (round === undefined) return null
  const said = new Map(round.votes.map(({ voter, decision }) => [voter, decision === 'allow' ? 'yes' : 'no']))
  return (
    <p class="note">
      It takes {round.need} of {round.voters.length} yeses:{' '}
      {round.voters.map(({ voter }) => `${line(voter)} ${said.get(voter) ?? 'has not answered'}`).join(', ')}.
    </p>
  )
}
