/**
 * Event run tool: runs one event of HomeSeer, named by id or by group and name.
 *
 * The name is resolved to an id before the decision, so that an event cannot pass a list under another name. The
 * event's actions and their consequences are read from HomeSeer's definitions: an event that opens a lock is as
 * sensitive as the lock, and so is one that cannot be read.
 *
 * Reads and writes through the link.
 */
import type { Capability } from '../../bus/capability.ts'
import { omitUndefined, type JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import type { Fault } from '../../core/fault.ts'
import type { ReceivedEventRecord } from '../wire/event.ts'
import { createEventRunByIdRequest, createEventRunByNameRequest } from '../wire/json-requests.ts'
import { createHomeseerOutcome } from './homeseer-envelope.ts'
import type { HomeseerToolContext } from './homeseer-tool-context.ts'
import { EVENT_SELECTOR_SCHEMAS, findSelectedEvent, type EventSelector } from './event-read-tools.ts'
import {
  assessEventRunConsequences,
  toConsequencesJson,
  listPossiblyReachedTargets,
  toHomeseerEventTarget,
  addConsequencesToLabel,
  listReachedTargets,
  listDeviceTargetsExcept,
  toTouchedTargets,
  type AssessedConsequences,
} from './consequence-assessment-client.ts'
import { createHomeseerWriteFault } from './faults.ts'
import {
  BASE_GUARD_ARGUMENT_SCHEMAS,
  defineHomeseerChange,
  type HomeseerAssessment,
  createTolerantInputSchema,
} from './homeseer-change.ts'
import type { HomeseerChangePolicy, TouchedTargets } from './change-policy.ts'

interface Plan {
  readonly event: ReceivedEventRecord
  readonly assessed: AssessedConsequences
}

export function createEventRunTool(homeseer: HomeseerToolContext): Capability {
  return defineHomeseerChange(homeseer.rules, {
    name: 'hs4.events.run',
    title: 'Run an event',
    description:
      'Runs one of HomeSeer’s events now, with everything it does. Events that open locks or gates, run scripts or carry the security mark need a person’s approval.',
    input: createTolerantInputSchema({ ...EVENT_SELECTOR_SCHEMAS, ...BASE_GUARD_ARGUMENT_SCHEMAS }),
    effect: 'writes',
    // The id is only known after the name is resolved, so the lock is for running events in general.
    lock: 'homeseer:events',
    // HomeSeer answers when the event has begun, not when it has ended.
    timeoutSeconds: 30,
    plan: (input) => planRun(homeseer, input),
    assess: (plan) => assessRun(plan, homeseer.rules),
    act: async (plan, _input, call) => {
      const { id, group, name } = plan.event
      const exchange = id === undefined ? createEventRunByNameRequest(group, name) : createEventRunByIdRequest(id)
      const done = await homeseer.link.json.call(exchange, call.signal)
      if (!done.ok)
        return fail(
          createHomeseerWriteFault(done.fault, `running ${group} / ${name}`, [{ name: 'hs4.devices.status.get' }]),
        )
      return createHomeseerOutcome({
        invoked: true,
        id: id ?? null,
        group,
        name,
        raw: 'ok',
        readBack: await readBack(homeseer, plan.assessed.consequences.refs),
      })
    },
  })
}

async function planRun(homeseer: HomeseerToolContext, wanted: EventSelector): Promise<Result<Plan, Fault>> {
  const found = await findSelectedEvent(homeseer, wanted)
  if (!found.ok) return found
  const { event } = found.value
  const assessed = await assessEventRunConsequences(homeseer, event)
  return assessed.ok ? ok({ event, assessed: assessed.value }) : assessed
}

function assessRun({ event, assessed }: Plan, rules: HomeseerChangePolicy): HomeseerAssessment {
  const { id, group, name } = event
  const { reasons } = assessed
  const target = toHomeseerEventTarget(id ?? `${group}/${name}`)
  return {
    effect: reasons.length > 0 ? 'sensitive' : 'writes',
    target,
    label: addConsequencesToLabel(`Event ${group} / ${name}`, assessed),
    touched: touchedByRun(event, assessed, rules),
    reaches: listReachedTargets(assessed).filter((reached) => reached !== target),
    mayReach: mayReachByRun(assessed),
    preview: {
      event: { id: id ?? null, group, name },
      sensitive: [...reasons],
      does: assessed.definition === undefined ? 'unknown' : actionsOf(assessed.definition),
      ...toConsequencesJson(assessed),
    },
  }
}

/**
 * The devices that an event sets count as touched, or an event could do what the list of devices forbids for a call. If
 * the owner has listed this event and all that it sets off, the owner has allowed it.
 */
function touchedByRun(
  event: ReceivedEventRecord,
  assessed: AssessedConsequences,
  { events }: HomeseerChangePolicy,
): TouchedTargets {
  const { refs, eventIds, mayTouchAnything } = toTouchedTargets(assessed)
  const ids = [...new Set([event.id, ...(eventIds ?? [])])]
  if (events !== undefined) return { eventIds: ids }
  const isUnknown = mayTouchAnything === true || assessed.definition === undefined
  return { eventIds: ids, ...omitUndefined({ refs }), mayTouchAnything: isUnknown }
}

/** An event that cannot be read may set any device, so what the owner forbids for one of them is forbidden for it. */
function mayReachByRun(assessed: AssessedConsequences): readonly string[] {
  return assessed.definition === undefined
    ? listDeviceTargetsExcept(assessed.deviceCatalog, [])
    : listPossiblyReachedTargets(assessed)
}

/** The actions in readable words for the approver. */
function actionsOf({ blocks }: NonNullable<AssessedConsequences['definition']>): readonly JsonObject[] {
  return blocks
    .flatMap((block) => block.actions)
    .map(({ type, script, deviceActions }) => ({
      type,
      ...omitUndefined({ script }),
      devices: deviceActions.map(({ ref, controlValue, controlLabel }) => ({
        ref: ref ?? null,
        value: controlValue ?? null,
        label: controlLabel ?? null,
      })),
    }))
}

/**
 * HomeSeer only reports the beginning, so the present state of the devices that the event is known to set is returned.
 */
async function readBack(homeseer: HomeseerToolContext, refs: readonly number[]): Promise<JsonObject> {
  if (refs.length === 0) return { performed: false }
  const read = await homeseer.link.mirror.read(refs)
  if (!read.ok) return { performed: false }
  const devices = refs.map((ref) => ({ ref, value: read.value.get(ref)?.record.value ?? null }))
  return { performed: true, devices }
}
