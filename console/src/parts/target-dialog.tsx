/**
 * Target dialog: changes what a room shall be like by day. It goes through the guard, like an agent's call.
 *
 * Does I/O: it calls the tool.
 */
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { CallResultView } from '../../../src/web/views.ts'
import { callTool } from '../core/api.ts'
import { ask } from '../core/ask.ts'
import { useAttempt } from '../core/attempt.ts'
import { targetArguments, targetSetting } from '../core/heating.ts'
import type { Room, TargetSetting } from '../core/heating.ts'
import { listAt, numberAt, stringAt } from '../core/json.ts'
import { mayAct, toolNames } from '../core/live.ts'
import { useLoad } from '../core/load.ts'
import { href } from '../core/route.ts'
import { Dialog } from './dialog.tsx'
import { Outcome } from './outcome.tsx'
import { Flaw, Shown } from './states.tsx'

const WRITER = 'ebus.v1.settings.set'
const DEVICES = 'ebus.v1.registry.devices.list'
const METHODS = 'ebus.v1.registry.methods.list'
/** Where a regulator has what can be set. */
const PLANE = 'system'

export function TargetDialog({
  room,
  onClose,
  onChanged,
}: {
  readonly room: Room
  readonly onClose: () => void
  readonly onChanged: () => void
}): JSX.Element {
  return (
    <Dialog title={<bdi>{room.name}</bdi>} onClose={onClose}>
      {!toolNames.value.has(WRITER) ? (
        <p class="note">Nothing on this bus can change a target.</p>
      ) : !mayAct.value ? (
        <p class="note">Your role does not change anything in the house.</p>
      ) : (
        <TargetPart room={room} onChanged={onChanged} />
      )}
      <p>
        <a href={href('ebus')}>The weekly schedule</a>
      </p>
    </Dialog>
  )
}

function TargetPart({ room, onChanged }: { readonly room: Room; readonly onChanged: () => void }): JSX.Element {
  const setting = useLoad(async () => ({ found: await settingOf(room) }), [room.id])
  return (
    <Shown of={setting} what="What can be set">
      {({ found }) =>
        found === undefined ? (
          <p class="note">
            Which targets this room takes is not known, so none can be set here. Where a regulator is heard, it is known
            a minute after the start.
          </p>
        ) : (
          <TargetForm room={room} setting={found} onChanged={onChanged} />
        )
      }
    </Shown>
  )
}

function TargetForm({
  room,
  setting,
  onChanged,
}: {
  readonly room: Room
  readonly setting: TargetSetting
  readonly onChanged: () => void
}): JSX.Element {
  const [text, setText] = useState(String(room.targetCelsius ?? 20))
  const [view, setView] = useState<CallResultView | undefined>(undefined)
  const { flaw, busy, attempt } = useAttempt()
  const { minimum, maximum } = setting
  const input = useRef<HTMLInputElement>(null)
  // It comes when the regulator was asked, after the dialog.
  useEffect(() => input.current?.focus(), [])
  const set = async (): Promise<void> => {
    const answer = await callTool(WRITER, targetArguments(setting, Number(text)))
    setView(answer)
    if (answer.outcome === 'ok') onChanged()
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void attempt(set)
      }}
    >
      <label class="field">
        Target by day, °C ({minimum} to {maximum})
        <input
          ref={input}
          type="number"
          required
          min={minimum}
          max={maximum}
          step={0.5}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </label>
      <Flaw text={flaw} />
      <div class="buttons">
        <button type="submit" class="primary" disabled={busy}>
          {busy ? 'Setting …' : 'Set'}
        </button>
      </div>
      {view === undefined ? null : <Outcome view={view} />}
    </form>
  )
}

/** Of whichever device says that it sets this room's target. */
async function settingOf(room: Room): Promise<TargetSetting | undefined> {
  const devices = listAt((await ask(DEVICES)).data)
  for (const device of devices) {
    const address = numberAt(device, 'address')
    const settable = listAt(device, 'planes').some((plane) => stringAt(plane, 'name') === PLANE)
    if (address === undefined || !settable) continue
    const methods = await ask(METHODS, { address, plane: PLANE })
    const found = targetSetting(room, methods.data)
    if (found !== undefined) return found
  }
  return undefined
}
