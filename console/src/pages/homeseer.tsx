/** HomeSeer: its devices by the thousand, its events, its cameras. */
import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { ask } from '../core/ask.ts'
import { DEVICES_TOOL, readDevices } from '../core/homeseer.ts'
import type { HomeseerDevice } from '../core/homeseer.ts'
import { listAt, numberAt, stringAt } from '../core/json.ts'
import type { JsonObject } from '../core/json.ts'
import { isAdmin, toolNames } from '../core/live.ts'
import { useLoad } from '../core/load.ts'
import { line } from '../core/text.ts'
import { useTool } from '../core/tool.ts'
import { useResourceTurn } from '../core/turn.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Filters, searched } from '../parts/filters.tsx'
import { Facts, Page, Section } from '../parts/frame.tsx'
import { Outcome } from '../parts/outcome.tsx'
import { Source } from '../parts/reading.tsx'
import { Empty, Shown } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'
import { DeviceClassesSection } from './homeseer-classes.tsx'
import { ToolRunner } from '../parts/tool-runner.tsx'
import { Age, Badge, Words, wordsAt } from '../parts/words.tsx'

const REST_MS = 5_000

export function HomeseerPage(): JSX.Element {
  if (!toolNames.value.has(DEVICES_TOOL)) {
    return (
      <Page title="HomeSeer">
        <Empty title="No HomeSeer is connected.">
          <p>
            Name its address in <code>hearthbus.yaml</code>: <code>homeseer: &#123; url: http://… &#125;</code>
          </p>
        </Empty>
      </Page>
    )
  }
  return (
    <Page title="HomeSeer">
      <Devices />
      {isAdmin.value ? <DeviceClassesSection /> : null}
      <Events />
      <Cameras />
    </Page>
  )
}

function Devices(): JSX.Element {
  const turn = useResourceTurn({ prefix: 'hs4:' })
  const [open, setOpen] = useState<HomeseerDevice | undefined>(undefined)
  const devices = useLoad(readDevices, [turn], REST_MS)
  const text = searched()
  const shown = useMemo(() => (devices.value ?? []).filter((device) => fits(device, text)), [devices.value, text])
  return (
    <Section title="Devices">
      <Filters placeholder="name, room, what it can" shown={shown.length} of={devices.value?.length ?? 0} />
      <Shown of={devices} what="HomeSeer">
        {() => (
          <Table
            label="HomeSeer devices"
            rows={shown}
            rowKey={({ ref }) => String(ref)}
            height={560}
            onOpen={setOpen}
            empty={<Empty title="No device fits the search." />}
            columns={[
              { name: 'Ref', width: '5rem', minor: true, cell: ({ ref }) => <span class="mono">{ref}</span> },
              {
                name: 'Name',
                width: 'minmax(0,2fr)',
                cell: ({ name, sensitive }) => (
                  <>
                    <bdi>{name}</bdi> {sensitive ? <Badge tone="warn">sensitive</Badge> : null}
                  </>
                ),
              },
              {
                name: 'Room',
                width: 'minmax(0,1fr)',
                minor: true,
                cell: ({ room, floor }) => <bdi>{[room, floor].filter(Boolean).join(', ')}</bdi>,
              },
              {
                name: 'Shows',
                width: 'minmax(0,1fr)',
                cell: ({ status, value }) => <bdi>{status === '' ? (value ?? '–') : status}</bdi>,
              },
              {
                name: 'Can',
                width: 'minmax(0,1fr)',
                minor: true,
                cell: ({ capabilities }) => line(capabilities.join(', ')),
              },
              { name: 'Confirmed', width: '7.5rem', minor: true, cell: ({ seenMs }) => <Age ms={seenMs} /> },
            ]}
          />
        )}
      </Shown>
      {open === undefined ? null : (
        <DeviceDialog device={open} onClose={() => setOpen(undefined)} onChanged={devices.reload} />
      )}
    </Section>
  )
}

function DeviceDialog({
  device,
  onClose,
  onChanged,
}: {
  readonly device: HomeseerDevice
  readonly onClose: () => void
  readonly onChanged: () => void
}): JSX.Element {
  const tool = useTool('hs4.devices.set')
  const given: JsonObject = {
    ref: device.ref,
    confirm: true,
    intent: `Set ${device.name}`,
    reason: 'A person asked for it at the console.',
  }
  return (
    <Dialog title={<bdi>{device.name}</bdi>} onClose={onClose}>
      <Facts
        of={[
          ['Shows', <bdi key="status">{device.status === '' ? (device.value ?? '–') : device.status}</bdi>],
          ['Room', <bdi key="room">{[device.room, device.floor].filter(Boolean).join(', ')}</bdi>],
          ['Interface', <bdi key="interface">{device.interfaceName}</bdi>],
          ['Changed', <Age key="changed" ms={device.changedMs} />],
        ]}
      />
      <Source atMs={device.seenMs} source="HomeSeer" />
      {device.controls.length === 0 ? null : (
        <p class="aside">
          It takes:{' '}
          {device.controls
            .slice(0, 20)
            .map(({ label, value }) => `${label} (${value})`)
            .join(', ')}
        </p>
      )}
      {toolNames.value.has('hs4.devices.set') ? (
        <Shown of={tool} what="The form">
          {(view) => <ToolRunner tool={view} given={given} onDone={onChanged} />}
        </Shown>
      ) : null}
    </Dialog>
  )
}

function Events(): JSX.Element {
  const events = useLoad(async () => listAt((await ask('hs4.events.list', { limit: 5_000 })).data, 'items'), [])
  const [open, setOpen] = useState<JsonObject | undefined>(undefined)
  return (
    <Section title="Events" note="Automations and scenes.">
      <Shown of={events} what="Events">
        {(list) => (
          <Table
            label="HomeSeer events"
            rows={list}
            rowKey={(event) =>
              `${numberAt(event, 'id') ?? ''} ${stringAt(event, 'group') ?? ''} ${stringAt(event, 'name') ?? ''}`
            }
            height={360}
            columns={[
              { name: 'Group', width: 'minmax(0,1fr)', cell: wordsAt('group') },
              { name: 'Name', width: 'minmax(0,2fr)', cell: wordsAt('name') },
              {
                name: 'Run',
                width: '6rem',
                cell: (event) => (
                  <button
                    type="button"
                    class="small"
                    disabled={!toolNames.value.has('hs4.events.run')}
                    onClick={() =>
                      setOpen({
                        ...(numberAt(event, 'id') === undefined
                          ? { group: stringAt(event, 'group') ?? '', name: stringAt(event, 'name') ?? '' }
                          : { id: numberAt(event, 'id') ?? 0 }),
                        confirm: true,
                        intent: line(`Run ${stringAt(event, 'group') ?? ''} / ${stringAt(event, 'name') ?? ''}`),
                        reason: 'A person asked for it at the console.',
                      })
                    }
                  >
                    Run …
                  </button>
                ),
              },
            ]}
            empty={<p class="aside">HomeSeer has no events.</p>}
          />
        )}
      </Shown>
      {open === undefined ? null : <EventDialog given={open} onClose={() => setOpen(undefined)} />}
    </Section>
  )
}

function EventDialog({ given, onClose }: { readonly given: JsonObject; readonly onClose: () => void }): JSX.Element {
  const tool = useTool('hs4.events.run')
  return (
    <Dialog title="Run an event" onClose={onClose}>
      <Shown of={tool} what="The form">
        {(view) => <ToolRunner tool={view} given={given} />}
      </Shown>
    </Dialog>
  )
}

function Cameras(): JSX.Element | null {
  const cameras = useLoad(async () => listAt((await ask('hs4.cameras.list')).data, 'cameras'), [])
  const [camera, setCamera] = useState<number | undefined>(undefined)
  if (cameras.value?.length === 0 || cameras.error !== undefined) return null
  return (
    <Section title="Cameras">
      <Shown of={cameras} what="Cameras">
        {(list) => (
          <ul class="cards">
            {list.slice(0, 40).map((one) => {
              const id = numberAt(one, 'camId') ?? -1
              return (
                <li key={id}>
                  <article class="card">
                    <h3>
                      <Words text={stringAt(one, 'name') ?? ''} />
                    </h3>
                    {camera === id ? <Picture camId={id} /> : null}
                    <div class="buttons">
                      <button type="button" class="small" onClick={() => setCamera(camera === id ? undefined : id)}>
                        {camera === id ? 'Hide' : 'Take a picture'}
                      </button>
                    </div>
                  </article>
                </li>
              )
            })}
          </ul>
        )}
      </Shown>
    </Section>
  )
}

function Picture({ camId }: { readonly camId: number }): JSX.Element {
  const picture = useLoad(() => ask('hs4.cameras.snapshot.get', { camId }), [camId])
  return (
    <Shown of={picture} what="The picture">
      {({ view }) => <Outcome view={view} />}
    </Shown>
  )
}

function fits(device: HomeseerDevice, text: string): boolean {
  if (text === '') return true
  return [device.name, device.room, device.floor, device.status, String(device.ref), ...device.capabilities].some(
    (part) => part.toLowerCase().includes(text),
  )
}
