/**
 * Automation: running an event of the simulated HomeSeer, and the two files it keeps its events in.
 *
 * Pure, given the world it is handed.
 */
import type { Json } from '../../core/json.ts'
import { noteDeed, type SimEvent, type System } from './system.ts'
import type { World } from './world.ts'

/** By name alone the first of that name is taken: HomeSeer does not ask which. */
export function findEvent(
  system: System,
  wanted: { readonly id: number | undefined; readonly group: string | undefined; readonly name: string | undefined },
): SimEvent | undefined {
  const same = (left: string, right: string) => left.toLowerCase() === right.toLowerCase()
  if (wanted.id !== undefined) return system.events.find((event) => event.id === wanted.id)
  const { group, name } = wanted
  if (name === undefined) return undefined
  return system.events.find((event) => same(event.name, name) && (group === undefined || same(event.group, group)))
}

/** An event acts with HomeSeer's own rights, whoever runs it. One that is switched off is not run. */
export function runEvent({ house, system }: Pick<World, 'house' | 'system'>, event: SimEvent, nowMs: number): boolean {
  noteDeed(system, { kind: 'event', id: event.id, done: event.enabled })
  if (!event.enabled) return false
  for (const { ref, value } of event.actions) {
    const done = house.controlByValue(ref, value, { user: 'default', nowMs })
    noteDeed(system, { kind: 'control', ref, value, done })
  }
  if (event.script !== undefined) {
    const done = system.scripts.has(event.script)
    noteDeed(system, { kind: 'script', command: event.script, done })
  }
  return true
}

/** `events.json`, as HomeSeer's scheduler writes it. */
export function eventsFile(system: System): Json {
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
    Triggers: { TrigGroups: event.trigger === undefined ? {} : { K0: { $values: [triggerOf(event.trigger)] } } },
    ConditionalActions: [{ mvarConditions: [], mvarActions: actionsOf(event) }],
  }))
}

/** `eventgroups.json`. */
export function eventGroupsFile(system: System): Json {
  return [...system.groupRefs].map(([Group, Ref]) => ({ Group, Ref }))
}

function triggerOf({ ref, value }: { readonly ref: number; readonly value: number }): Json {
  return {
    $type: 'Scheduler.Classes.EvTrig_DEVICE_VALUE, Scheduler',
    ev_trig_dvRef: ref,
    TriggerSubType: 7,
    mvarOperationSelected: true,
    mvarValue_or_Start: value,
    // HomeSeer's own number for "no end given".
    ValEnd_Spec: -99_999.987_65,
  }
}

function actionsOf(event: SimEvent): Json {
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
  }
}
