/** Settings: doctor's findings, how clients connect, credentials, profiles, and who is signed in. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { formatTokenRestrictions } from '../../../src/web/token-restriction-text.ts'
import type { SignInLinkView, ConsoleSessionView, SettingsPageView, TokenView } from '../../../src/web/views.ts'
import { get, post, remove } from '../core/api.ts'
import { useAttempt } from '../core/attempt.ts'
import { browserText } from '../core/format.ts'
import { linkFrom } from '../core/link.ts'
import { calls, isAdmin, me } from '../core/live.ts'
import { useLoad } from '../core/load.ts'
import { href } from '../core/route.ts'
import { line } from '../core/text.ts'
import { Code } from '../parts/copy.tsx'
import { Facts, Page, Section } from '../parts/frame.tsx'
import { Flaw, Shown } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'
import { TokenForm } from '../parts/token-form.tsx'
import { Age, Badge, Time, Words } from '../parts/words.tsx'

const CLIENT_NAMES: Readonly<Record<string, string>> = {
  'claude-desktop': 'Claude Desktop',
  'claude-code': 'Claude Code',
  cursor: 'Cursor',
  vscode: 'VS Code',
  other: 'Anything else',
}

export function SettingsPage(): JSX.Element {
  const settings = useLoad(() => get<SettingsPageView>('/api/settings'), [])
  return (
    <Page title="Settings">
      <Shown of={settings} what="The settings">
        {(shown) => (
          <>
            <Section
              title="Doctor"
              actions={
                <button type="button" class="small" onClick={settings.reload}>
                  Look again
                </button>
              }
            >
              <ul class="findings">
                {shown.findings.map(({ level, about, sentence }) => (
                  <li key={about + sentence}>
                    <Badge tone={level === 'ok' ? 'good' : level === 'warn' ? 'warn' : 'bad'}>{level}</Badge>{' '}
                    <strong>{line(about)}</strong> {line(sentence, 300)}
                  </li>
                ))}
              </ul>
              <Facts
                of={[
                  ['Node', <Words key="node" text={shown.node} />],
                  ['Identity', <code key="id">{shown.nodeId}</code>],
                  ['Version', shown.version],
                ]}
              />
            </Section>
            <Section title="Connect a client" note="Paste this where the client wants it.">
              {shown.clients.map(({ name, where, snippet }) => (
                <details key={name} class="client">
                  <summary>{CLIENT_NAMES[name] ?? name}</summary>
                  <p class="aside">{where}</p>
                  <Code text={snippet} label={`For ${CLIENT_NAMES[name] ?? name}`} />
                </details>
              ))}
              <Callers />
            </Section>
            <Section title="Profiles" note="Named subsets of the tools, at /mcp/<name>.">
              <Table
                label="Profiles"
                rows={shown.profiles}
                rowKey={({ name }) => name}
                height={320}
                onOpen={({ name }) => {
                  location.hash = `${href('tools')}?profile=${encodeURIComponent(name)}`
                }}
                columns={[
                  { name: 'Name', width: 'minmax(0,1fr)', cell: ({ name }) => <code>{line(name)}</code> },
                  { name: 'Tools', width: '6rem', cell: ({ tools }) => tools },
                  {
                    name: 'From',
                    width: '10rem',
                    minor: true,
                    cell: ({ builtIn }) => (builtIn ? 'built in' : 'the configuration'),
                  },
                ]}
              />
            </Section>
          </>
        )}
      </Shown>
      {isAdmin.value ? <Tokens /> : null}
      <Sessions />
    </Page>
  )
}

/** Who has called lately, as far as the page has heard. */
function Callers(): JSX.Element {
  const seen = new Map<
    string,
    { readonly caller: string; readonly channel: string; readonly ts: string; readonly count: number }
  >()
  for (const { caller, channel, ts } of calls.value) {
    const key = `${caller} ${channel}`
    const known = seen.get(key)
    seen.set(key, { caller, channel, ts: known?.ts ?? ts, count: (known?.count ?? 0) + 1 })
  }
  const rows = [...seen.values()]
  return (
    <>
      <h3>Seen lately</h3>
      <Table
        label="Callers seen lately"
        rows={rows}
        rowKey={({ caller, channel }) => `${caller} ${channel}`}
        height={260}
        empty={<p class="aside">Nobody has called yet.</p>}
        columns={[
          { name: 'Who', width: 'minmax(0,1fr)', cell: ({ caller }) => <Words text={caller} /> },
          { name: 'Through', width: '8rem', minor: true, cell: ({ channel }) => line(channel) },
          { name: 'Calls', width: '6rem', minor: true, cell: ({ count: number }) => number },
          { name: 'Last', width: '8rem', cell: ({ ts }) => <Age ms={Date.parse(ts)} /> },
        ]}
      />
    </>
  )
}

function Tokens(): JSX.Element {
  const tokens = useLoad(() => get<readonly TokenView[]>('/api/tokens'), [])
  const { flaw, attempt } = useAttempt()
  const revoke = (name: string): Promise<void> =>
    attempt(async () => {
      await remove(`/api/tokens/${encodeURIComponent(name)}`)
      tokens.reload()
    })
  return (
    <Section title="Tokens" note="Credentials of agents and people. An agent’s token cannot approve.">
      <Flaw text={flaw} />
      <TokenForm onMade={tokens.reload} />
      <Shown of={tokens} what="Tokens">
        {(list) => (
          <>
            <Narrowings of={list} />
            <Table
              label="Tokens"
              rows={list}
              rowKey={({ name, createdAtMs }) => `${name} ${createdAtMs}`}
              height={360}
              empty={<p class="aside">There are none. Programs on this machine need none.</p>}
              columns={[
                { name: 'Name', width: 'minmax(0,1fr)', cell: ({ name }) => <Words text={name} /> },
                { name: 'Role', width: '4.5rem', cell: ({ role }) => role },
                {
                  name: 'Last used',
                  width: '8rem',
                  minor: true,
                  cell: ({ lastUsedAtMs }) => (lastUsedAtMs === undefined ? 'never' : <Age ms={lastUsedAtMs} />),
                },
                {
                  name: 'Expires',
                  width: '8rem',
                  minor: true,
                  cell: ({ expiresAtMs }) => (expiresAtMs === undefined ? 'never' : <Time ms={expiresAtMs} />),
                },
                {
                  name: 'Revoke',
                  width: '7rem',
                  cell: ({ name, revokedAtMs }) =>
                    revokedAtMs === undefined ? (
                      <button
                        type="button"
                        class="small"
                        aria-label={`Revoke ${name}`}
                        onClick={() => void revoke(name)}
                      >
                        Revoke
                      </button>
                    ) : (
                      <Badge>revoked</Badge>
                    ),
                },
              ]}
            />
          </>
        )}
      </Shown>
    </Section>
  )
}

/** Beside the table, where there is room for all of it, also on a phone. */
function Narrowings({ of: tokens }: { readonly of: readonly TokenView[] }): JSX.Element | null {
  const narrowed = tokens.flatMap(({ name, restrictions, revokedAtMs }) => {
    const text = revokedAtMs === undefined ? formatTokenRestrictions(restrictions) : undefined
    return text === undefined ? [] : [{ name, text }]
  })
  if (narrowed.length === 0) return null
  return (
    <ul class="aside" aria-label="Narrowed tokens">
      {narrowed.map(({ name, text }) => (
        <li key={name}>
          <Words text={name} /> is narrowed to <Words text={text} max={2_000} />.
        </li>
      ))}
    </ul>
  )
}

function Sessions(): JSX.Element {
  const sessions = useLoad(() => get<readonly ConsoleSessionView[]>('/api/sessions'), [])
  const [link, setLink] = useState<SignInLinkView | undefined>(undefined)
  const { flaw, attempt } = useAttempt()
  const act = (work: () => Promise<unknown>): Promise<void> => attempt(() => work().then(sessions.reload))
  const invite = async (role: string): Promise<void> =>
    setLink(await post<SignInLinkView>('/api/console/link', { role }))
  return (
    <Section
      title="Signed in"
      actions={
        isAdmin.value ? (
          <>
            <button type="button" class="small" onClick={() => void act(() => invite('approver'))}>
              Link for an approver
            </button>
            <button type="button" class="small" onClick={() => void act(() => invite('observer'))}>
              Link for an observer
            </button>
          </>
        ) : undefined
      }
    >
      <Flaw text={flaw} />
      {link === undefined ? null : (
        <>
          <p class="aside">Signs in once, as {link.role}, within 15 minutes:</p>
          <Code text={linkFrom(link.url, location.origin)} label="The link" />
        </>
      )}
      <Shown of={sessions} what="Sessions">
        {(list) => (
          <Table
            label="Sessions"
            rows={list}
            rowKey={({ id }) => id}
            height={320}
            columns={[
              {
                name: 'Who',
                width: 'minmax(0,1fr)',
                cell: ({ principal, id }) => (
                  <>
                    {line(principal)} {id === me.value?.session ? <Badge tone="accent">you</Badge> : null}
                  </>
                ),
              },
              { name: 'Role', width: '4.5rem', cell: ({ role }) => role },
              {
                name: 'Browser',
                width: 'minmax(0,2fr)',
                minor: true,
                cell: ({ browser }) => (
                  <span title={line(browser, 160)}>
                    <Words text={browserText(browser) ?? browser} max={120} />
                  </span>
                ),
              },
              { name: 'Seen', width: '8rem', minor: true, cell: ({ seenAtMs }) => <Age ms={seenAtMs} /> },
              {
                name: 'End',
                width: '7rem',
                cell: ({ id }) => (
                  <button
                    type="button"
                    class="small"
                    onClick={() => void act(() => remove(`/api/sessions/${encodeURIComponent(id)}`))}
                  >
                    Sign out
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
