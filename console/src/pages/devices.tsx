/** Devices: the ESP32 devices: who is there, who waits to be let in, and what each can do. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { ask } from '../core/ask.ts'
import { useAttempt } from '../core/attempt.ts'
import { booleanAt, listAt, numberAt, stringAt } from '../core/json.ts'
import type { Json } from '../core/json.ts'
import { historyTurn, isAdmin, registryTurn, toolNames } from '../core/live.ts'
import { useLoad } from '../core/load.ts'
import { asItIs, readPages } from '../core/pages.ts'
import { href, route } from '../core/route.ts'
import { line, textOf } from '../core/text.ts'
import { useResourceTurn } from '../core/turn.ts'
import { DeviceTools } from '../parts/device-tools.tsx'
import { Filters, searched } from '../parts/filters.tsx'
import { Facts, Page, Section } from '../parts/frame.tsx'
import { Empty, Flaw, Shown } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'
import { Age, Badge, Words, wordsAt } from '../parts/words.tsx'

const LIST_TOOL = 'devices.list'
const REST_MS = 2_000
/** Who stands at the door is announced at once, and somebody stands there with the device in hand. */
const WAITING_REST_MS = 300

export function DevicesPage(): JSX.Element {
  const { rest } = route.value
  if (!toolNames.value.has(LIST_TOOL)) {
    return (
      <Page title="Devices">
        <Empty title="The devices’ listener is off.">
          <p>
            Switch it on in <code>hearthbus.yaml</code>: <code>devices: &#123; enabled: true &#125;</code>
          </p>
        </Empty>
      </Page>
    )
  }
  if (rest !== '') return <OneDevice key={rest} device={rest} />
  return (
    <Page title="Devices" lead="Voice devices, cameras and robots that speak MCP.">
      {isAdmin.value ? <Enrolment /> : null}
      <Fleet />
    </Page>
  )
}

function Fleet(): JSX.Element {
  const devices = useLoad(readFleet, [registryTurn.value, historyTurn.value], REST_MS)
  const text = searched()
  const shown = (devices.value ?? []).filter((device) => fits(device, text))
  return (
    <Section title="Enrolled">
      {devices.value === undefined || devices.value.length === 0 ? null : (
        <Filters placeholder="name, board, firmware" shown={shown.length} of={devices.value.length} />
      )}
      <Shown of={devices} what="The devices">
        {(all) => (
          <Table
            label="Enrolled devices"
            rows={shown}
            rowKey={(device) => stringAt(device, 'id') ?? ''}
            height={520}
            onOpen={(device) => {
              location.hash = href('devices', stringAt(device, 'device') ?? '')
            }}
            empty={<Empty title={all.length === 0 ? 'No device is enrolled.' : 'No device fits the search.'} />}
            columns={[
              {
                name: 'Name',
                width: 'minmax(0,2fr)',
                cell: (device) => (
                  <a href={href('devices', stringAt(device, 'device') ?? '')}>
                    <Words text={stringAt(device, 'name') ?? ''} />
                  </a>
                ),
              },
              { name: 'Presence', width: '7rem', cell: presence },
              { name: 'Board', width: 'minmax(0,1fr)', minor: true, cell: wordsAt('board') },
              { name: 'Firmware', width: '7rem', minor: true, cell: wordsAt('firmware') },
              { name: 'Through', width: '7rem', minor: true, cell: wordsAt('transport') },
              { name: 'Tools', width: '8rem', minor: true, cell: toolCount },
              {
                name: 'Heard',
                width: '8rem',
                minor: true,
                cell: (device) => <Age ms={Date.parse(stringAt(device, 'last_seen') ?? '')} />,
              },
            ]}
          />
        )}
      </Shown>
    </Section>
  )
}

function readFleet(): Promise<readonly Json[]> {
  return readPages({ tool: LIST_TOOL, body: { limit: 500 }, list: 'devices', next: 'next', cursor: 'after' }, asItIs)
}

function fits(device: Json, text: string): boolean {
  const words = ['name', 'device', 'id', 'board', 'firmware', 'phase'].map((field) => stringAt(device, field) ?? '')
  return text === '' || words.some((word) => word.toLowerCase().includes(text))
}

function presence(device: Json): JSX.Element {
  const online = booleanAt(device, 'online') === true
  return (
    <Badge tone={online ? 'good' : 'calm'}>{online ? line(stringAt(device, 'phase') ?? 'online', 20) : 'asleep'}</Badge>
  )
}

function toolCount(device: Json): JSX.Element {
  const withheld = numberAt(device, 'withheld') ?? 0
  return (
    <>
      {numberAt(device, 'tools') ?? 0}
      {withheld > 0 ? <Badge tone="warn">{withheld} withheld</Badge> : null}
    </>
  )
}

function Enrolment(): JSX.Element {
  const [code, setCode] = useState('')
  const [name, setName] = useState('')
  const [said, setSaid] = useState('')
  const { flaw, attempt } = useAttempt()
  const turn = useResourceTurn({ prefix: 'devices://waiting' })
  const waiting = useLoad(
    async () => (await ask('devices.enrolment.list')).data,
    [registryTurn.value, turn],
    WAITING_REST_MS,
  )
  const letIn = async (): Promise<void> => {
    setSaid('')
    const { data } = await ask('devices.enrolment.approve', { code, ...(name === '' ? {} : { name }) })
    setSaid(`${line(stringAt(data, 'name') ?? 'The device')} is let in. It connects within seconds.`)
    setCode('')
    setName('')
    waiting.reload()
  }
  return (
    <Section title="Let a device in" note="It shows six digits on its screen.">
      <form
        class="inline"
        onSubmit={(event) => {
          event.preventDefault()
          void attempt(letIn)
        }}
      >
        <label class="field">
          Code
          <input
            inputMode="numeric"
            pattern="[0-9]{6}"
            maxLength={6}
            required
            placeholder="123456"
            value={code}
            onInput={({ currentTarget }) => setCode(currentTarget.value)}
          />
        </label>
        <label class="field">
          Name (optional)
          <input
            maxLength={64}
            placeholder="Kitchen"
            value={name}
            onInput={({ currentTarget }) => setName(currentTarget.value)}
          />
        </label>
        <button type="submit" class="primary">
          Let it in
        </button>
      </form>
      <Flaw text={flaw} />
      {said === '' ? null : (
        <p class="note good" role="status">
          {said}
        </p>
      )}
      <Shown of={waiting} what="Who waits">
        {(data) => {
          const pending = listAt(data, 'pending')
          if (pending.length === 0) {
            return (
              <p class="aside">
                Nobody waits. Devices are pointed to <code>{line(stringAt(data, 'ota') ?? '', 120)}</code>
              </p>
            )
          }
          return (
            <ul class="cards">
              {pending.slice(0, 40).map((device) => (
                <li key={stringAt(device, 'code')}>
                  <article class="card">
                    <header>
                      <h3 class="mono">{line(stringAt(device, 'code') ?? '')}</h3>
                      {booleanAt(device, 'replaces') === true ? (
                        <Badge tone="warn">address is known already</Badge>
                      ) : null}
                    </header>
                    <Facts
                      of={[
                        ['Board', <Words key="board" text={stringAt(device, 'board') ?? ''} />],
                        ['From', <Words key="from" text={stringAt(device, 'address') ?? ''} />],
                        ['Since', <Age key="since" ms={Date.parse(stringAt(device, 'since') ?? '')} />],
                      ]}
                    />
                    <p class="aside">Only if it is in front of you and shows these digits:</p>
                    <div class="buttons">
                      <button type="button" class="small" onClick={() => setCode(stringAt(device, 'code') ?? '')}>
                        Use this code
                      </button>
                    </div>
                  </article>
                </li>
              ))}
            </ul>
          )
        }}
      </Shown>
    </Section>
  )
}

function OneDevice({ device }: { readonly device: string }): JSX.Element {
  const turns = [device, registryTurn.value, historyTurn.value]
  const facts = useLoad(async () => (await ask('devices.get', { device })).data, turns, REST_MS)
  return (
    <Page title={line(stringAt(facts.value, 'name') ?? device, 60)} actions={<a href={href('devices')}>All devices</a>}>
      <Shown of={facts} what="The device">
        {(data) => (
          <>
            <Facts
              of={[
                ['Presence', presence(data)],
                ['Board', <Words key="board" text={stringAt(data, 'board') ?? ''} />],
                ['Firmware', <Words key="firmware" text={stringAt(data, 'firmware') ?? ''} />],
                ['Address', <Words key="address" text={stringAt(data, 'address') ?? '–'} />],
                ['MAC', <code key="id">{line(stringAt(data, 'id') ?? '')}</code>],
                ['Heard', <Age key="heard" ms={Date.parse(stringAt(data, 'last_seen') ?? '')} />],
              ]}
            />
            {listAt(data, 'warnings').map((warning) => (
              <p key={textOf(warning)} class="note warn">
                <Words text={textOf(warning)} max={300} />
              </p>
            ))}
            <DeviceTools device={device} />
          </>
        )}
      </Shown>
    </Page>
  )
}
