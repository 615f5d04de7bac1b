/** Ledger: how large it is, who signed it, whether it still is what was signed, and what it says. */
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { LedgerEntryView, LedgerView } from '../../../src/web/views.ts'
import { get, getText, post } from '../core/api.ts'
import { useAttempt } from '../core/attempt.ts'
import { count, tookText } from '../core/format.ts'
import { isAdmin, ledger, me, verification } from '../core/live.ts'
import { numberAt, stringAt } from '../core/json.ts'
import { useLoad } from '../core/load.ts'
import { line } from '../core/text.ts'
import { Code, saveFile } from '../parts/copy.tsx'
import { Facts, Page, Section } from '../parts/frame.tsx'
import { JsonTree } from '../parts/json-tree.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Flaw, Shown } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'
import { Age, Badge, Time, Words } from '../parts/words.tsx'

const PAGE = 200

export function LedgerPage(): JSX.Element {
  const checkpointSize = ledger.value?.checkpointSize ?? null
  const view = useLoad(() => get<LedgerView>('/api/ledger'), [checkpointSize])
  useEffect(() => {
    if (view.value?.verification != null && verification.peek() === undefined)
      verification.value = view.value.verification
  }, [view.value])
  return (
    <Page title="Ledger" lead="Every call, decision and change, in an append-only log that anybody can check.">
      <Shown of={view} what="The ledger">
        {(shown) => (
          <>
            <Section title="Now">
              <Facts
                of={[
                  ['Entries', count(ledger.value?.size ?? shown.size)],
                  [
                    'State',
                    <Badge key="state" tone={shown.state.kind === 'sound' ? 'good' : 'bad'}>
                      {shown.state.kind}
                    </Badge>,
                  ],
                  ['Signed up to', checkpointSize === null ? 'nothing yet' : count(checkpointSize)],
                ]}
              />
              <Checkpoint view={shown} onSigned={view.reload} />
            </Section>
            <Verify />
            <Export vkey={shown.vkey} />
          </>
        )}
      </Shown>
      <Entries />
    </Page>
  )
}

function Checkpoint({ view, onSigned }: { readonly view: LedgerView; readonly onSigned: () => void }): JSX.Element {
  const { flaw, attempt } = useAttempt()
  const sign = async (): Promise<void> => {
    await post('/api/ledger/checkpoint')
    onSigned()
  }
  const [text = '', signatures = ''] = (view.checkpoint ?? '').split('\n\n')
  const [origin = '', size = '', root = ''] = text.split('\n')
  const signers = signatures.split('\n').flatMap((row) => /^— (\S+) (\S+)$/.exec(row)?.slice(1, 3) ?? [])
  const names = signers.filter((_, index) => index % 2 === 0)
  return (
    <>
      {view.checkpoint === null ? (
        <p class="aside">Nothing has been signed yet.</p>
      ) : (
        <>
          <Facts
            of={[
              ['Log', <Words key="origin" text={origin} />],
              ['Size', count(Number(size))],
              ['Root', <code key="root">{line(root, 60)}</code>],
            ]}
          />
          <h3>Signatures</h3>
          <ul class="signatures">
            {names.map((name) => (
              <li key={name}>
                <Badge tone={name === origin ? 'calm' : 'good'}>{name === origin ? 'this node' : 'witness'}</Badge>{' '}
                <Words text={name} />
              </li>
            ))}
          </ul>
          {names.some((name) => name !== origin) ? null : (
            <p class="aside">No witness has cosigned it. A witness on another machine makes it hard to rewrite.</p>
          )}
        </>
      )}
      <Flaw text={flaw} />
      <div class="buttons">
        <button type="button" onClick={() => void attempt(sign)}>
          Sign now
        </button>
        {view.checkpoint === null ? null : (
          <button type="button" class="quiet" onClick={() => saveFile('checkpoint.txt', view.checkpoint ?? '')}>
            Save the checkpoint
          </button>
        )}
      </div>
    </>
  )
}

function Verify(): JSX.Element {
  const { flaw, attempt } = useAttempt()
  const run = verification.value
  return (
    <Section title="Verify" note="Derives everything again from the bytes of the entries.">
      <div class="buttons">
        <button
          type="button"
          class="primary"
          disabled={run?.running === true || me.value?.role === 'observer'}
          onClick={() => void attempt(() => post('/api/ledger/verify'))}
        >
          Verify now
        </button>
      </div>
      <Flaw text={flaw} />
      {run === undefined ? null : (
        <div role="status">
          <progress max={Math.max(1, run.size)} value={run.checked} aria-label="Entries checked" />
          <p>
            {count(run.checked)} of {count(run.size)} entries
            {run.endedAtMs === null ? '' : `, in ${tookText(run.endedAtMs - run.startedAtMs)}`}
          </p>
          {run.running ? null : run.findings.length === 0 ? (
            <p class="note good">
              All of it is in order, as of <Age ms={run.endedAtMs ?? undefined} />.
            </p>
          ) : (
            <ul class="note bad">
              {run.findings.map((finding) => (
                <li key={finding}>{line(finding, 300)}</li>
              ))}
            </ul>
          )}
        </div>
      )}
    </Section>
  )
}

function Export({ vkey }: { readonly vkey: string }): JSX.Element {
  const [folder, setFolder] = useState('')
  const [said, setSaid] = useState('')
  const { flaw, attempt } = useAttempt()
  const write = async (): Promise<void> => {
    setSaid('')
    await post('/api/ledger/export', { folder })
    setSaid(`Written to ${folder}. Anybody can check it with: hearthbus ledger verify --export ${folder} --vkey …`)
  }
  return (
    <Section title="Take it along" note="This key checks all that this node signs.">
      <Code text={vkey} label="The public key" />
      {isAdmin.value ? (
        <form
          class="inline"
          onSubmit={(event) => {
            event.preventDefault()
            void attempt(write)
          }}
        >
          <label class="field">
            Export into a folder on the gateway’s machine
            <input
              placeholder="/home/me/ledger"
              required
              pattern="/.*"
              value={folder}
              onInput={({ currentTarget }) => setFolder(currentTarget.value)}
            />
          </label>
          <button type="submit">Export</button>
        </form>
      ) : null}
      <Flaw text={flaw} />
      {said === '' ? null : (
        <p class="note good" role="status">
          {said}
        </p>
      )}
    </Section>
  )
}

function Entries(): JSX.Element {
  const [before, setBefore] = useState<number | undefined>(undefined)
  const [open, setOpen] = useState<LedgerEntryView | undefined>(undefined)
  const query = before === undefined ? '' : `&before=${before}`
  const entries = useLoad(() => get<readonly LedgerEntryView[]>(`/api/ledger/entries?limit=${PAGE}${query}`), [before])
  const last = entries.value?.at(-1)?.seq ?? 0
  return (
    <Section
      title="Entries"
      note="Newest first."
      actions={
        <>
          <button
            type="button"
            class="small"
            onClick={() => (before === undefined ? entries.reload() : setBefore(undefined))}
          >
            Newest
          </button>
          <button type="button" class="small" disabled={last === 0} onClick={() => setBefore(last)}>
            Older
          </button>
        </>
      }
    >
      <Shown of={entries} what="Entries">
        {(rows) => (
          <Table
            label="Ledger entries"
            rows={rows}
            rowKey={({ seq }) => String(seq)}
            onOpen={setOpen}
            columns={[
              { name: 'Number', width: '6rem', cell: ({ seq }) => <span class="mono">#{seq}</span> },
              { name: 'When', width: '8rem', minor: true, cell: ({ at }) => <Time ms={Date.parse(at)} /> },
              { name: 'Kind', width: '11rem', cell: ({ kind }) => line(kind) },
              { name: 'About', width: 'minmax(0,1fr)', minor: true, cell: about },
            ]}
          />
        )}
      </Shown>
      {open === undefined ? null : (
        <Dialog title={`Entry #${open.seq}`} onClose={() => setOpen(undefined)}>
          <JsonTree value={open.entry} />
          <div class="buttons">
            <button
              type="button"
              onClick={() =>
                void getText(`/api/ledger/proof/${open.seq}`).then((text) =>
                  saveFile(`entry-${open.seq}.tlog-proof`, text),
                )
              }
            >
              Save proof
            </button>
          </div>
        </Dialog>
      )}
    </Section>
  )
}

function about({ entry }: LedgerEntryView): JSX.Element {
  const words = ['tool', 'principal', 'outcome', 'approval', 'grant', 'name', 'title', 'by'].flatMap((field) => {
    const value = stringAt(entry, field)
    return value === undefined ? [] : [value]
  })
  const closes = numberAt(entry, 'call')
  return <Words text={[...words.slice(0, 3), ...(closes === undefined ? [] : [`closes #${closes}`])].join(' · ')} />
}
