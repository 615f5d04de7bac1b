/**
 * Admin operations on cameras, events and the names of things.
 *
 * Pure, given the world it is handed.
 */
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import { ok } from '../../core/result.ts'
import { booleanField, field, numberField, objectField, textField, textsField } from '../../homeseer/wire/field.ts'
import { changed, refuse, type OperationResult, type Operations } from './admin-result.ts'
import { eventGroupsFile, eventsFile } from './automation.ts'
import type { World } from './world.ts'
import { simEvent, type SimCamera, type SimEvent } from './system.ts'

/** Names and arguments are those of the admin adapter's protocol (homeseer/wire/admin-adapter.ts). */
export const CONTENT_OPERATIONS: Operations = {
  'cameras.list': ({ system }) => ok({ cameras: system.cameras.map((camera) => ({ ...camera })) }),
  'cameras.config.create': createCamera,
  'cameras.config.update': (world, args) =>
    changeCamera(world, args, (one) => ({
      ...one,
      name: textField(args, 'name') ?? one.name,
      streamUrl: textField(args, 'streamUrl') ?? one.streamUrl,
      profile: textField(args, 'profile') ?? one.profile,
    })),
  'cameras.config.delete': (world, args) => changeCamera(world, args, () => undefined),
  'cameras.stream_profile.set': (world, args) =>
    changeCamera(world, args, (one) => ({ ...one, profile: textField(args, 'profile') ?? one.profile })),
  'cameras.recording.set': (world, args) =>
    changeCamera(world, args, (one) => ({
      ...one,
      recording: {
        enabled: booleanField(args, 'enabled') ?? one.recording.enabled,
        retentionDays: numberField(args, 'retentionDays') ?? one.recording.retentionDays,
      },
    })),

  'events.export': ({ system }) =>
    ok({ events: eventsFile(system), groups: eventGroupsFile(system), modifiedMs: Date.UTC(2026, 0, 4) }),
  'events.get': ({ system }, args) => {
    const event = findWanted(system.events, args)
    return event === undefined ? refuse('not-found', 'no such event') : ok({ event: shownEvent(event) })
  },
  'events.create': createEvent,
  'events.update': (world, args) =>
    changeEvent(world, args, (one) => withDefinition(one, objectField(args, 'definition'))),
  'events.delete': (world, args) => changeEvent(world, args, () => undefined),

  'config.device_metadata.set': ({ house }, args) => {
    const ref = numberField(args, 'ref') ?? -1
    const property = textField(args, 'property') ?? ''
    const before = house.record(ref)
    if (before === undefined) return refuse('not-found', 'no such device')
    if (!house.setProperty(ref, property, textField(args, 'value') ?? '')) return refuse('invalid', 'no such property')
    const after = house.record(ref)
    const shown = (record: typeof before | undefined): JsonObject => ({
      ref,
      name: record?.name ?? '',
      location: record?.location ?? '',
      location2: record?.location2 ?? '',
      userNote: record?.userNote ?? '',
    })
    return changed(shown(before), shown(after))
  },
  'config.categories.list': ({ system }) => ok({ categories: system.categories.map((one) => ({ ...one })) }),
  'config.category.upsert': ({ system }, args) => {
    const category = textField(args, 'category') ?? ''
    if (category === '') return refuse('invalid', 'a category needs a name')
    const before = system.categories.find((one) => one.category === category)
    const after = { category, rooms: textsField(args, 'rooms') }
    system.categories = [...system.categories.filter((one) => one !== before), after]
    return changed(before ?? null, after)
  },
  'config.category.delete': ({ system }, args) => {
    const before = system.categories.find((one) => one.category === textField(args, 'category'))
    if (before === undefined) return refuse('not-found', 'no such category')
    system.categories = system.categories.filter((one) => one !== before)
    return changed(before, null)
  },
}

function createCamera({ system }: World, args: JsonObject): OperationResult {
  const name = textField(args, 'name') ?? ''
  const streamUrl = textField(args, 'streamUrl') ?? ''
  if (name === '' || streamUrl === '') return refuse('invalid', 'a camera needs a name and a stream')
  // Ids are not used again, as long as the newest is not deleted: enough for a simulator.
  const camId = Math.max(0, ...system.cameras.map((camera) => camera.camId)) + 1
  const camera = {
    camId,
    name,
    streamUrl,
    supportsPanTilt: false,
    profile: textField(args, 'profile') ?? 'main',
    recording: { enabled: false, retentionDays: 7 },
    pan: { x: 0, y: 0 },
  }
  system.cameras = [...system.cameras, camera]
  return changed(null, camera)
}

function changeCamera(
  { system }: World,
  args: JsonObject,
  change: (camera: SimCamera) => SimCamera | undefined,
): OperationResult {
  const before = system.cameras.find((camera) => camera.camId === numberField(args, 'camId'))
  if (before === undefined) return refuse('not-found', 'no such camera')
  const after = change(before)
  system.cameras = system.cameras.map((one) => (one === before ? after : one)).filter((one) => one !== undefined)
  return changed(before, after === undefined ? null : after)
}

function createEvent({ system }: World, args: JsonObject): OperationResult {
  const group = textField(args, 'group') ?? ''
  const name = textField(args, 'name') ?? ''
  if (group === '' || name === '') return refuse('invalid', 'an event needs a group and a name')
  if (findWanted(system.events, args) !== undefined) return refuse('conflict', `there is ${group} / ${name}`)
  const id = Math.max(0, ...system.events.map((event) => event.id)) + 1
  const event = withDefinition(simEvent({ id, group, name }), objectField(args, 'definition'))
  if (!system.groupRefs.has(group)) system.groupRefs.set(group, 880_011_223 + system.groupRefs.size)
  system.events = [...system.events, event]
  return changed(null, shownEvent(event))
}

/** A definition holds `enabled` and `actions: [{ref, value, label}]`; what it leaves out stays as it was. */
function withDefinition(event: SimEvent, definition: JsonObject | undefined): SimEvent {
  if (definition === undefined) return event
  const actions = field(definition, 'actions')
  return {
    ...event,
    enabled: booleanField(definition, 'enabled') ?? event.enabled,
    actions: Array.isArray(actions) ? (actions as readonly Json[]).flatMap(actionOf) : event.actions,
  }
}

function actionOf(value: Json): SimEvent['actions'] {
  const record = isJsonObject(value) ? value : {}
  const ref = numberField(record, 'ref')
  const target = numberField(record, 'value')
  return ref === undefined || target === undefined
    ? []
    : [{ ref, value: target, label: textField(record, 'label') ?? '' }]
}

function changeEvent(
  { system }: World,
  args: JsonObject,
  change: (event: SimEvent) => SimEvent | undefined,
): OperationResult {
  const before = findWanted(system.events, args)
  if (before === undefined) return refuse('not-found', 'no such event')
  const after = change(before)
  system.events = system.events
    .map((event) => (event === before ? after : event))
    .filter((event) => event !== undefined)
  return changed(shownEvent(before), after === undefined ? null : shownEvent(after))
}

function findWanted(events: readonly SimEvent[], args: JsonObject): SimEvent | undefined {
  const id = numberField(args, 'eventId')
  const group = textField(args, 'group')?.toLowerCase()
  const name = textField(args, 'name')?.toLowerCase()
  if (id !== undefined) return events.find((event) => event.id === id)
  return events.find((event) => event.group.toLowerCase() === group && event.name.toLowerCase() === name)
}

function shownEvent(event: SimEvent): JsonObject {
  const { id, group, name, enabled, security, actions } = event
  return { id, group, name, enabled, security, actions: actions.map((action) => ({ ...action })) }
}
