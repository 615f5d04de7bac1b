/** Admin operations on cameras, events and the names of things. */
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import { ok } from '../../core/result.ts'
import {
  readRecordBoolean,
  readRecordField,
  readRecordNumber,
  readRecordObject,
  readRecordText,
  readRecordTexts,
} from '../../homeseer/wire/record-field.ts'
import {
  createBeforeAfterResult,
  createRefusedResult,
  replaceOrRemoveItem,
  type SimulatedAdminResult,
  type SimulatedAdminOperations,
} from './admin-result.ts'
import { createEventGroupsFileContent, createEventsFileContent } from './simulated-events.ts'
import type { SimulatedWorld } from './simulated-world.ts'
import { createSimulatedEvent, type SimulatedCamera, type SimulatedEvent } from './simulated-system.ts'

/** Names and arguments are those of the admin adapter's protocol (homeseer/wire/admin-adapter.ts). */
export const SIMULATED_CAMERA_EVENT_CONFIG_OPERATIONS: SimulatedAdminOperations = {
  'cameras.list': ({ system }) => ok({ cameras: system.cameras.map((camera) => ({ ...camera })) }),
  'cameras.config.create': createCamera,
  'cameras.config.update': (world, args) =>
    changeCamera(world, args, (one) => ({
      ...one,
      name: readRecordText(args, 'name') ?? one.name,
      streamUrl: readRecordText(args, 'streamUrl') ?? one.streamUrl,
      profile: readRecordText(args, 'profile') ?? one.profile,
    })),
  'cameras.config.delete': (world, args) => changeCamera(world, args, () => undefined),
  'cameras.stream_profile.set': (world, args) =>
    changeCamera(world, args, (one) => ({ ...one, profile: readRecordText(args, 'profile') ?? one.profile })),
  'cameras.recording.set': (world, args) =>
    changeCamera(world, args, (one) => ({
      ...one,
      recording: {
        enabled: readRecordBoolean(args, 'enabled') ?? one.recording.enabled,
        retentionDays: readRecordNumber(args, 'retentionDays') ?? one.recording.retentionDays,
      },
    })),

  'events.export': ({ system }) =>
    ok({
      events: createEventsFileContent(system),
      groups: createEventGroupsFileContent(system),
      modifiedMs: Date.UTC(2026, 0, 4),
    }),
  'events.get': ({ system }, args) => {
    const event = findWanted(system.events, args)
    return event === undefined ? createRefusedResult('not-found', 'no such event') : ok({ event: shownEvent(event) })
  },
  'events.create': createEvent,
  'events.update': (world, args) =>
    changeEvent(world, args, (one) => withDefinition(one, readRecordObject(args, 'definition'))),
  'events.delete': (world, args) => changeEvent(world, args, () => undefined),

  'config.device_metadata.set': ({ house }, args) => {
    const ref = readRecordNumber(args, 'ref') ?? -1
    const property = readRecordText(args, 'property') ?? ''
    const before = house.record(ref)
    if (before === undefined) return createRefusedResult('not-found', 'no such device')
    if (!house.setProperty(ref, property, readRecordText(args, 'value') ?? ''))
      return createRefusedResult('invalid', 'no such property')
    const after = house.record(ref)
    const shown = (record: typeof before | undefined): JsonObject => ({
      ref,
      name: record?.name ?? '',
      location: record?.location ?? '',
      location2: record?.location2 ?? '',
      userNote: record?.userNote ?? '',
    })
    return createBeforeAfterResult(shown(before), shown(after))
  },
  'config.categories.list': ({ system }) => ok({ categories: system.categories.map((one) => ({ ...one })) }),
  'config.category.upsert': ({ system }, args) => {
    const category = readRecordText(args, 'category') ?? ''
    if (category === '') return createRefusedResult('invalid', 'a category needs a name')
    const before = system.categories.find((one) => one.category === category)
    const after = { category, rooms: readRecordTexts(args, 'rooms') }
    system.categories = [...system.categories.filter((one) => one !== before), after]
    return createBeforeAfterResult(before, after)
  },
  'config.category.delete': ({ system }, args) => {
    const before = system.categories.find((one) => one.category === readRecordText(args, 'category'))
    if (before === undefined) return createRefusedResult('not-found', 'no such category')
    system.categories = system.categories.filter((one) => one !== before)
    return createBeforeAfterResult(before, undefined)
  },
}

function createCamera({ system }: SimulatedWorld, args: JsonObject): SimulatedAdminResult {
  const name = readRecordText(args, 'name') ?? ''
  const streamUrl = readRecordText(args, 'streamUrl') ?? ''
  if (name === '' || streamUrl === '') return createRefusedResult('invalid', 'a camera needs a name and a stream')
  // Ids are not reused unless the newest camera is deleted, which is enough for a simulator.
  const camId = Math.max(0, ...system.cameras.map((camera) => camera.camId)) + 1
  const camera = {
    camId,
    name,
    streamUrl,
    supportsPanTilt: false,
    profile: readRecordText(args, 'profile') ?? 'main',
    recording: { enabled: false, retentionDays: 7 },
    pan: { x: 0, y: 0 },
  }
  system.cameras = [...system.cameras, camera]
  return createBeforeAfterResult(undefined, camera)
}

function changeCamera(
  { system }: SimulatedWorld,
  args: JsonObject,
  change: (camera: SimulatedCamera) => SimulatedCamera | undefined,
): SimulatedAdminResult {
  const before = system.cameras.find((camera) => camera.camId === readRecordNumber(args, 'camId'))
  if (before === undefined) return createRefusedResult('not-found', 'no such camera')
  const after = change(before)
  system.cameras = replaceOrRemoveItem(system.cameras, before, after)
  return createBeforeAfterResult(before, after)
}

function createEvent({ system }: SimulatedWorld, args: JsonObject): SimulatedAdminResult {
  const group = readRecordText(args, 'group') ?? ''
  const name = readRecordText(args, 'name') ?? ''
  if (group === '' || name === '') return createRefusedResult('invalid', 'an event needs a group and a name')
  if (findWanted(system.events, args) !== undefined)
    return createRefusedResult('conflict', `there is ${group} / ${name}`)
  const id = Math.max(0, ...system.events.map((event) => event.id)) + 1
  const event = withDefinition(createSimulatedEvent({ id, group, name }), readRecordObject(args, 'definition'))
  if (!system.groupRefs.has(group)) system.groupRefs.set(group, 880_011_223 + system.groupRefs.size)
  system.events = [...system.events, event]
  return createBeforeAfterResult(undefined, shownEvent(event))
}

/** A definition holds `enabled` and `actions: [{ref, value, label}]`; what it leaves out stays as it was. */
function withDefinition(event: SimulatedEvent, definition: JsonObject | undefined): SimulatedEvent {
  if (definition === undefined) return event
  const actions = readRecordField(definition, 'actions')
  return {
    ...event,
    enabled: readRecordBoolean(definition, 'enabled') ?? event.enabled,
    actions: Array.isArray(actions) ? (actions as readonly Json[]).flatMap(actionOf) : event.actions,
  }
}

function actionOf(value: Json): SimulatedEvent['actions'] {
  const record = isJsonObject(value) ? value : {}
  const ref = readRecordNumber(record, 'ref')
  const target = readRecordNumber(record, 'value')
  return ref === undefined || target === undefined
    ? []
    : [{ ref, value: target, label: readRecordText(record, 'label') ?? '' }]
}

function changeEvent(
  { system }: SimulatedWorld,
  args: JsonObject,
  change: (event: SimulatedEvent) => SimulatedEvent | undefined,
): SimulatedAdminResult {
  const before = findWanted(system.events, args)
  if (before === undefined) return createRefusedResult('not-found', 'no such event')
  const after = change(before)
  system.events = replaceOrRemoveItem(system.events, before, after)
  return createBeforeAfterResult(shownEvent(before), after && shownEvent(after))
}

function findWanted(events: readonly SimulatedEvent[], args: JsonObject): SimulatedEvent | undefined {
  const id = readRecordNumber(args, 'eventId')
  const group = readRecordText(args, 'group')?.toLowerCase()
  const name = readRecordText(args, 'name')?.toLowerCase()
  if (id !== undefined) return events.find((event) => event.id === id)
  return events.find((event) => event.group.toLowerCase() === group && event.name.toLowerCase() === name)
}

function shownEvent(event: SimulatedEvent): JsonObject {
  const { id, group, name, enabled, security, actions } = event
  return { id, group, name, enabled, security, actions: actions.map((action) => ({ ...action })) }
}
