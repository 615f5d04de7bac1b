/**
 * Simulated events: runs an event of the simulated HomeSeer, and makes the content of its two event files.
 *
 * Pure, given the world it is handed.
 */
import type { Json } from '../../core/json.ts'
import { recordSimulatedChangeAttempt, type SimulatedEvent, type SimulatedHomeseerSystem } from './simulated-system.ts'
import type { SimulatedTrigger } from './trigger.ts'
import type { SimulatedWorld } from './simulated-world.ts'

/** A name alone finds the first event with it, as in HomeSeer. */
export function findSimulatedEvent(
  system: SimulatedHomeseerSystem,
  wanted: { readonly id: number | undefined; readonly group: string | undefined; readonly name: string | undefined },
): SimulatedEvent | undefined {
  const same = (left: string, right: string) => left.toLowerCase() === right.toLowerCase()
  if (wanted.id !== undefined) return system.events.find((event) => event.id === wanted.id)
  const { group, name } = wanted
  if (name === undefined) return undefined
  return system.events.find((event) => same(event.name, name) && (group === undefined || same(event.group, group)))
}

/** Limits events that run each other in a circle. */
const MAX_NESTED = 8

/** An event acts with HomeSeer's own rights, whoever runs it. A disabled event is not run. */
export function runSimulatedEvent(
  world: Pick<SimulatedWorld, 'house' | 'system'>,
  event: SimulatedEvent,
  nowMs: number,
  nested = 0,
): boolean {
  const { house, system } = world
  recordSimulatedChangeAttempt(system, { kind: 'event', id: event.id, done: event.enabled })
  if (!event.enabled || nested > MAX_NESTED) return false
  for (const { ref, value } of event.actions) {
    const done = house.controlByValue(ref, value, { user: 'default', nowMs })
    recordSimulatedChangeAttempt(system, { kind: 'control', ref, value, done })
  }
  if (event.script !== undefined) {
    const done = system.scripts.has(event.script)
    recordSimulatedChangeAttempt(system, { kind: 'script', command: event.script, done })
  }
  for (const id of event.runs) {
    const next = system.events.find((one) => one.id === id)
    if (next !== undefined) runSimulatedEvent(world, next, nowMs, nested + 1)
  }
  return true
}

/** `events.json`, as HomeSeer's scheduler writes it. */
export function createEventsFileContent(system: SimulatedHomeseerSystem): Json {
  return system.events.map((event) => ({
    evRef: event.id,
    mvarGroupRef: system.groupRefs.get(event.group) ?? 0,
    Name: event.name,
    sType: '',
    // Fixed, so that two runs write equal files.
    Last_Trigger_Time: '2026-01-03T18:00:00',
    Voice_Rec_Tag: event.voiceCommand,
    Flag_Enabled: event.enabled,
    Flag_Security: event.security,
    Triggers: {
      TrigGroups: Object.fromEntries(
        event.triggers.map((group, index) => [`K${index}`, { $values: group.map(triggerOf) }]),
      ),
    },
    ConditionalActions: [{ mvarConditions: [], mvarActions: actionsOf(event) }],
    ...event.members,
  }))
}

/** `eventgroups.json`. */
export function createEventGroupsFileContent(system: SimulatedHomeseerSystem): Json {
  return [...system.groupRefs].map(([Group, Ref]) => ({ Group, Ref }))
}

/** HomeSeer's own number for "no end given". */
const NO_END = -99_999.987_65

/** Only `equals` (7) has been seen in public; the other numbers are the simulator's own. */
const SUB_TYPES: Readonly<Record<SimulatedTrigger['kind'], number>> = {
  'any-change': 0,
  above: 1,
  below: 2,
  range: 3,
  'not-equals': 4,
  set: 5,
  'has-been': 6,
  equals: 7,
}

function triggerOf({ ref, kind, value = 0, end }: SimulatedTrigger, index: number): Json {
  return {
    $type: 'Scheduler.Classes.EvTrig_DEVICE_VALUE, Scheduler',
    ...(ref === undefined ? { AnyDevice: true } : { ev_trig_dvRef: ref }),
    TriggerSubType: SUB_TYPES[kind],
    mvarOperationSelected: true,
    ...(kind === 'any-change' ? { AnyValue: true } : {}),
    ...(index > 0 ? { Condition: true } : {}),
    mvarValue_or_Start: value,
    ValEnd_Spec: end ?? NO_END,
  }
}

function actionsOf(event: SimulatedEvent): Json {
  const control = {
    $type: 'Scheduler.Classes.EvACT_DEVICE, Scheduler',
    delay: '00:00:00',
    devices: Object.fromEntries(
      event.actions.map(({ ref, value, label }) => [
        `K${ref}`,
        { dvRef: ref, ControlLabel: label, ControlValue: value },
      ]),
    ),
  }
  const script = {
    $type: 'Scheduler.Classes.EvACT_SCRIPT, Scheduler',
    delay: '00:00:00',
    mvarScript: event.script ?? '',
    mvarMethod: 'Main',
    mvarParams: '',
  }
  return {
    ...(event.actions.length === 0 ? {} : { K0: control }),
    ...(event.script === undefined ? {} : { K1: script }),
    // The name of the type and of its member are the simulator's own.
    ...Object.fromEntries(
      event.runs.map((id, index) => [
        `K${index + 2}`,
        { $type: 'Scheduler.Classes.EvACT_EVENT, Scheduler', delay: '00:00:00', mvarEventRef: id },
      ]),
    ),
  }
}
