/**
 * House devices: HomeSeer's lamps, sensors and the rest, by room. A room opens when somebody looks into it, so that a
 * house of thousands is as quick as a flat.
 */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { CallResultView } from '../../../src/web/views.ts'
import { callTool } from '../core/api.ts'
import { faultText } from '../core/ask.ts'
import { sentenceOf } from '../core/attempt.ts'
import { readDevices, setArguments } from '../core/homeseer.ts'
import type { HomeseerDevice } from '../core/homeseer.ts'
import { mayAct } from '../core/live.ts'
import { useLoad } from '../core/load.ts'
import { href } from '../core/route.ts'
import { useResourceTurn } from '../core/turn.ts'
import { Section } from './frame.tsx'
import { Source } from './reading.tsx'
import { Empty, Shown } from './states.tsx'
import { Badge } from './words.tsx'

const REST_MS = 5_000
const MAX_IN_ROOM = 60

export function HouseDevices(): JSX.Element {
  const turn = useResourceTurn({ prefix: 'hs4:' })
  const devices = useLoad(readDevices, [turn], REST_MS)
  return (
    <Section title="Lamps and devices" note={<a href={href('homeseer')}>All of them</a>}>
      <Shown of={devices} what="HomeSeer">
        {(all) => {
          const rooms = byRoom(all)
          if (rooms.length === 0) return <Empty title="HomeSeer has no devices." />
          return (
            <div class="rooms">
              {rooms.map(([room, inRoom], index) => (
                <RoomDevices key={room} room={room} devices={inRoom} open={index < 3} onChanged={devices.reload} />
              ))}
            </div>
          )
        }}
      </Shown>
    </Section>
  )
}

function RoomDevices({
  room,
  devices,
  open: openAtFirst,
  onChanged,
}: {
  readonly room: string
  readonly devices: readonly HomeseerDevice[]
  readonly open: boolean
  readonly onChanged: () => void
}): JSX.Element {
  const [open, setOpen] = useState(openAtFirst)
  return (
    <details class="room-devices" open={open} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <bdi>{room}</bdi> <span class="aside">{devices.length}</span>
      </summary>
      {open ? (
        <ul class="device-list">
          {devices.slice(0, MAX_IN_ROOM).map((device) => (
            <DeviceRow key={device.ref} device={device} onChanged={onChanged} />
          ))}
          {devices.length > MAX_IN_ROOM ? (
            <li class="aside">
              <a href={href('homeseer')}>and {devices.length - MAX_IN_ROOM} more</a>
            </li>
          ) : null}
        </ul>
      ) : null}
    </details>
  )
}

function DeviceRow({
  device,
  onChanged,
}: {
  readonly device: HomeseerDevice
  readonly onChanged: () => void
}): JSX.Element {
  const [said, setSaid] = useState('')
  const [busy, setBusy] = useState(false)
  const controls = mayAct.value ? shortControls(device) : []
  const tell = async (value: number, label: string): Promise<void> => {
    setBusy(true)
    setSaid('')
    try {
      const view = await callTool('hs4.devices.set', setArguments(device, value, label))
      setSaid(sentence(view))
      onChanged()
    } catch (error) {
      setSaid(sentenceOf(error))
    } finally {
      setBusy(false)
    }
  }
  return (
    <li class="device-row">
      <span class="device-name">
        <bdi>{device.name}</bdi> {device.sensitive ? <Badge tone="warn">needs approval</Badge> : null}
      </span>
      <span class="device-status">
        <bdi>{device.status === '' ? (device.value ?? '–') : device.status}</bdi>
      </span>
      <span class="device-controls">
        {controls.map(({ label, value }) => (
          <button
            key={label + value}
            type="button"
            class="small"
            disabled={busy}
            aria-pressed={device.value === value}
            aria-label={`${device.name}: ${label}`}
            onClick={() => void tell(value, label)}
          >
            {label}
          </button>
        ))}
      </span>
      <Source atMs={device.seenMs} source="HomeSeer" />
      {said === '' ? null : (
        <p class="said" role="status">
          {said}
        </p>
      )}
    </li>
  )
}

/** On and off, or the few things that a switch has; a device with many has its page. */
function shortControls({ controls }: HomeseerDevice): HomeseerDevice['controls'] {
  const known = controls.filter(({ label }) => label !== '')
  const onOff = known.filter(({ label }) => /^(on|off|lock|unlock|open|close|locked|unlocked)$/i.test(label))
  return onOff.length > 0 ? onOff.slice(0, 2) : known.length <= 3 ? known : []
}

function sentence(view: CallResultView): string {
  if (view.outcome === 'ok') return 'Done.'
  return view.fault?.kind === 'approval-required'
    ? `It waits for somebody’s approval. ${faultText(view)}`
    : faultText(view)
}

function byRoom(devices: readonly HomeseerDevice[]): readonly (readonly [string, readonly HomeseerDevice[]])[] {
  const rooms = new Map<string, HomeseerDevice[]>()
  for (const device of devices) {
    const name = [device.room, device.floor].filter((part) => part !== '').join(', ') || 'Elsewhere'
    const known = rooms.get(name)
    if (known === undefined) rooms.set(name, [device])
    else known.push(device)
  }
  return [...rooms].toSorted(([left], [right]) => left.localeCompare(right))
}
