/**
 * Target dialog: changes what a room shall be like by day. It goes through the guard, like an agent's call.
 *
 * Does I/O: it calls the tool.
 */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { CallView } from '../../../src/web/views.ts'
import { callTool } from '../core/api.ts'
import { ask } from '../core/ask.ts'
import { useAttempt } from '../core/attempt.ts'
import { MAX_TARGET, MIN_TARGET, targetArguments } from '../core/heating.ts'
import type { Room } from '../core/heating.ts'
import { listAt, numberAt } from '../core/json.ts'
import { mayAct, toolNames } from '../core/live.ts'
import { href } from '../core/route.ts'
import { Dialog } from './dialog.tsx'
import { Outcome } from './outcome.tsx'
import { Flaw } from './states.tsx'

const WRITER = 'ebus.v1.rpc.invoke'
const DEVICES = 'ebus.v1.registry.devices.list'
/** Where a regulator answers (0x15), unless another device is all there is. */
const REGULATOR = 21

export function TargetDialog({
  room,
  onClose,
  onChanged,
}: {
  readonly room: Room
  readonly onClose: () => void
  readonly onChanged: () => void
}): JSX.Element {
  const [text, setText] = useState(String(room.targetCelsius ?? 20))
  const [view, setView] = useState<CallView | undefined>(undefined)
  const { flaw, busy, attempt } = useAttempt()
  const set = async (): Promise<void> => {
    const answer = await callTool(WRITER, targetArguments(room, Number(text), await regulator()))
    setView(answer)
    if (answer.outcome === 'ok') onChanged()
  }
  return (
    <Dialog title={<bdi>{room.name}</bdi>} onClose={onClose}>
      {!toolNames.value.has(WRITER) ? (
        <p class="note">Nothing on this bus can change a target.</p>
      ) : !mayAct.value ? (
        <p class="note">Your role does not change anything in the house.</p>
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault()
            void attempt(set)
          }}
        >
          <label class="field">
            Target by day, °C
            <input
              type="number"
              required
              min={MIN_TARGET}
              max={MAX_TARGET}
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
      )}
      <p>
        <a href={href('ebus')}>The weekly schedule</a>
      </p>
    </Dialog>
  )
}

async function regulator(): Promise<number> {
  if (!toolNames.peek().has(DEVICES)) return REGULATOR
  const { data } = await ask(DEVICES)
  const addresses = listAt({ data }, 'data').flatMap((device) => numberAt(device, 'address') ?? [])
  return addresses.includes(REGULATOR) ? REGULATOR : (addresses[0] ?? REGULATOR)
}
