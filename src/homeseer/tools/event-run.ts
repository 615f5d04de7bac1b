/**
 * Event run: runs one event of HomeSeer, named by id or by group and name.
 *
 * The name becomes an id before anything is decided, so that no way of naming an event passes a list that the id would
 * not pass. What an event does is read from HomeSeer's files where they can be read: one that opens a lock is as
 * sensitive as the lock.
 *
 * Reads and writes through the link.
 */
import { z } from 'zod'
import type { Capability } from '../../bus/capability.ts'
import type { JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import type { Fault } from '../../core/fault.ts'
import type { EventDefinition } from '../catalog/event-definition.ts'
import type { ReceivedEvent } from '../wire/event.ts'
import { runEventById, runEventByName } from '../wire/write-request.ts'
import { answer, type Homeseer } from './dependencies.ts'
import { EVENT_NAME, findEvent, type EventName } from './event-read-tools.ts'
import { weighEvent, type EventWeight } from './event-weight-client.ts'
import { writeFault } from './faults.ts'
import { BASE_GUARD, GUARDED_OUTPUT, defineHomeseerChange, type HomeseerAssessment } from './homeseer-change.ts'
import type { Rules } from './rules.ts'

interface Plan extends EventWeight {
  readonly event: ReceivedEvent
}

export function eventRun(homeseer: Homeseer): Capability {
  return defineHomeseerChange(homeseer.rules, {
    name: 'hs4.events.run',
    title: 'Run an event',
    description:
      'Runs one of HomeSeer’s events now, with everything it does. Events that open locks or gates, run scripts or carry the security mark need a person’s approval.',
    input: z.strictObject({ ...EVENT_NAME, ...BASE_GUARD }),
    output: GUARDED_OUTPUT,
    effect: 'writes',
    // The id may be hidden behind a name, so the lock is on running events as such.
    lock: 'homeseer:events',
    // HomeSeer answers when the event has begun, not when it is through.
    timeoutSeconds: 30,
    plan: (input) => planRun(homeseer, input),
    assess: (plan) => assessRun(plan, homeseer.rules),
    act: async (plan, _input, call) => {
      const { event, definition } = plan
      const { id, group, name } = event
      const exchange = id === undefined ? runEventByName(group, name) : runEventById(id)
      const done = await homeseer.link.json.call(exchange, call.signal)
      if (!done.ok)
        return fail(writeFault(done.fault, `running ${group} / ${name}`, [{ name: 'hs4.devices.status.get' }]))
      return answer({
        invoked: true,
        id: id ?? null,
        group,
        name,
        raw: 'ok',
        readBack: await readBack(homeseer, definition),
      })
    },
  })
}

async function planRun(homeseer: Homeseer, wanted: EventName): Promise<Result<Plan, Fault>> {
  const found = await findEvent(homeseer, wanted)
  if (!found.ok) return found
  const { event } = found.value
  const weight = await weighEvent(homeseer, event)
  if (!weight.ok) return weight
  const { definition, sensitivity } = weight.value
  // An owner who has listed events has thought about what they do, also where we cannot read it.
  const { events: listed } = homeseer.rules
  return ok({
    event,
    definition,
    sensitivity: listed === undefined ? sensitivity : sensitivity.filter((reason) => reason !== 'unknown-action'),
  })
}

function assessRun({ event, definition, sensitivity }: Plan, rules: Rules): HomeseerAssessment {
  const { id, group, name } = event
  return {
    effect: sensitivity.length > 0 ? 'sensitive' : 'writes',
    target: `homeseer:event:${id ?? `${group}/${name}`}`,
    label: `Event ${group} / ${name}`,
    touched: { eventIds: [id], ...devicesOf(definition, rules) },
    reaches: definition?.actionRefs ?? [],
    preview: {
      event: { id: id ?? null, group, name },
      sensitive: [...sensitivity],
      does: definition === undefined ? 'unknown' : actionsOf(definition),
    },
  }
}

/**
 * A list of devices would be no list if an event could do what a call may not. An owner who has listed events has
 * thought about what they do.
 */
function devicesOf(definition: EventDefinition | undefined, { events }: Rules): { readonly refs?: readonly number[] } {
  return events === undefined && definition !== undefined ? { refs: definition.actionRefs } : {}
}

/** For the person who approves: in the words of the event, not of HomeSeer's file. */
function actionsOf({ blocks }: EventDefinition): readonly JsonObject[] {
  return blocks
    .flatMap((block) => block.actions)
    .map(({ type, script, deviceActions }) => ({
      type,
      ...(script === undefined ? {} : { script }),
      devices: deviceActions.map(({ ref, controlValue, controlLabel }) => ({
        ref: ref ?? null,
        value: controlValue ?? null,
        label: controlLabel ?? null,
      })),
    }))
}

/** HomeSeer only says that it began. What the devices show now, of those that the event is known to set. */
async function readBack(homeseer: Homeseer, definition: EventDefinition | undefined): Promise<JsonObject> {
  const refs = definition?.actionRefs ?? []
  if (refs.length === 0) return { performed: false }
  const read = await homeseer.link.mirror.read(refs)
  if (!read.ok) return { performed: false }
  const devices = refs.map((ref) => ({ ref, value: read.value.get(ref)?.record.value ?? null }))
  return { performed: true, devices }
}
