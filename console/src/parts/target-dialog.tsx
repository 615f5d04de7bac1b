/**
 * Target dialog: changes what a room shall be like, with whichever tool of the eBUS family can.
 *
 * Does I/O: it calls the tool.
 */
import type { JSX } from 'preact'
import type { Room } from '../core/heating.ts'
import type { JsonObject } from '../core/json.ts'
import { isObject } from '../core/json.ts'
import { tools } from '../core/live.ts'
import { href } from '../core/route.ts'
import { Dialog } from './dialog.tsx'
import { ToolRunner } from './tool-runner.tsx'

/** A tool of its own for this comes before the regulator's general method. */
const WRITERS = [/^ebus\.v1\.semantic\.zones\.set/, /^ebus\.v1\.semantic\.zone\.set/, /^ebus\.v1\.rpc\.invoke$/]

export function TargetDialog({
  room,
  onClose,
  onChanged,
}: {
  readonly room: Room
  readonly onClose: () => void
  readonly onChanged: () => void
}): JSX.Element {
  const [tool] = WRITERS.flatMap((pattern) => (tools.value ?? []).filter(({ name }) => pattern.test(name)))
  return (
    <Dialog title={<bdi>{room.name}</bdi>} onClose={onClose}>
      {tool === undefined ? (
        <p class="note">Nothing on this bus can change a target. The weekly schedule can be edited.</p>
      ) : (
        <ToolRunner
          tool={tool}
          given={prefilled(tool.inputSchema, room)}
          onDone={({ outcome }) => {
            if (outcome === 'ok') onChanged()
          }}
        />
      )}
      <p>
        <a href={href('ebus')}>The weekly schedule</a>
      </p>
    </Dialog>
  )
}

/** What the form can know already, by the names that its arguments have. */
function prefilled(schema: JsonObject, room: Room): JsonObject {
  const number = Number(/\d+$/.exec(room.id)?.[0] ?? 1) - 1
  const known: JsonObject = {
    zone: number,
    zone_id: room.id,
    id: room.id,
    celsius: room.targetCelsius ?? 20,
    target_temp_c: room.targetCelsius ?? 20,
    temperature_c: room.targetCelsius ?? 20,
    intent: 'MUTATE',
    allow_dangerous: true,
    idempotency_key: `console-${crypto.randomUUID()}`,
  }
  const properties = isObject(schema['properties']) ? schema['properties'] : {}
  return Object.fromEntries(Object.entries(known).filter(([name]) => Object.hasOwn(properties, name)))
}
