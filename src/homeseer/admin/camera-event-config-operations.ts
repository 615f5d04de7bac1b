/**
 * Camera event config operations: the acts of administration on cameras, events, and the names and places of devices.
 */
import { z } from 'zod'
import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import { isSecretName } from '../../guard/secret-detection.ts'
import { toTextOrEmpty } from '../tools/json-text.ts'
import type { AdminOperationBeforeAfter, AdminOperation, AdminUndoOperation } from './admin-operation.ts'
import { createUndoByFormerValues, createUndoOfCreation } from './admin-undo.ts'

const word = z.string().min(1).max(200)
const maybe = word.exactOptional()
const camId = z.int().min(0)
const eventName = { eventId: z.int().min(0).exactOptional(), group: maybe, name: maybe }
/** The form that the adapter accepts; members that are left out stay unchanged. */
const definition = z
  .record(z.string(), z.json())
  .exactOptional()
  .describe('`enabled`, and `actions: [{ref, value, label?}]`.')

const cameras = {
  domain: 'cameras' as const,
  target: (args: JsonObject) => `camera:${toTextOrEmpty(args['camId'])}`,
  touched: (args: JsonObject) => (typeof args['camId'] === 'number' ? { cameraIds: [args['camId']] } : {}),
}
/** The plan fills in the id after resolving the name. */
const events = {
  domain: 'events' as const,
  target: (args: JsonObject) =>
    `event:${toTextOrEmpty(args['eventId']) || `${toTextOrEmpty(args['group'])}/${toTextOrEmpty(args['name'])}`}`,
  touched: (args: JsonObject) => ({
    ...(typeof args['eventId'] === 'number' ? { eventIds: [args['eventId']] } : {}),
    refs: listEventActionDeviceRefs(args['definition']),
  }),
}
const category = {
  domain: 'config' as const,
  target: (args: JsonObject) => `category:${toTextOrEmpty(args['category'])}`,
  touched: (args: JsonObject) => ({ categoryIds: [toTextOrEmpty(args['category'])] }),
}

export const ADMIN_CAMERA_EVENT_CONFIG_OPERATIONS: readonly AdminOperation[] = [
  {
    ...cameras,
    op: 'cameras.config.create',
    target: ({ name }) => `camera:${toTextOrEmpty(name)}`,
    title: 'Add a camera',
    description: 'Adds a camera to HomeSeer.',
    shape: { name: word, streamUrl: z.string().min(1).max(1_000), profile: maybe },
    undo: ({ after }) =>
      createUndoOfCreation(after, 'camId', (id) => ({ op: 'cameras.config.delete', args: { camId: id } })),
  },
  {
    ...cameras,
    op: 'cameras.config.update',
    title: 'Change a camera',
    description: 'Changes name, stream or profile of a camera.',
    shape: { camId, name: maybe, streamUrl: z.string().min(1).max(1_000).exactOptional(), profile: maybe },
    undo: ({ args, before }) => createUndoByFormerValues('cameras.config.update', 'camId', { args, before }),
  },
  {
    ...cameras,
    // A new camera would have another id, so there is no undo.
    op: 'cameras.config.delete',
    title: 'Remove a camera',
    description: 'Removes a camera from HomeSeer.',
    shape: { camId },
  },
  {
    ...cameras,
    op: 'cameras.stream_profile.set',
    title: 'Set the stream profile',
    description: 'Sets the stream profile of a camera.',
    shape: { camId, profile: word },
    undo: ({ args, before }) => createUndoByFormerValues('cameras.stream_profile.set', 'camId', { args, before }),
  },
  {
    ...cameras,
    op: 'cameras.recording.set',
    title: 'Switch recording',
    description: 'Switches the recording of a camera on or off, and how long it is kept.',
    shape: { camId, enabled: z.boolean(), retentionDays: z.int().min(0).max(3_650).exactOptional() },
    undo: ({ args, before }) =>
      isJsonObject(before?.['recording'])
        ? { op: 'cameras.recording.set', args: { camId: args['camId'] ?? 0, ...before['recording'] } }
        : undefined,
  },
  {
    ...events,
    op: 'events.create',
    title: 'Create an event',
    description: 'Creates an event in HomeSeer. One that touches locks, gates or alarms needs a person’s approval.',
    shape: { group: word, name: word, definition },
    undo: ({ after }) => createUndoOfCreation(after, 'id', (id) => ({ op: 'events.delete', args: { eventId: id } })),
  },
  {
    ...events,
    op: 'events.update',
    title: 'Change an event',
    description: 'Changes what an event does. One that touches locks, gates or alarms needs a person’s approval.',
    shape: { ...eventName, definition },
    undo: ({ args, before }) =>
      typeof before?.['enabled'] === 'boolean' && Array.isArray(before['actions'])
        ? {
            op: 'events.update',
            args: {
              ...whichEvent(args),
              definition: { enabled: before['enabled'], actions: before['actions'] as readonly JsonObject[] },
            },
          }
        : undefined,
  },
  {
    ...events,
    // There is no undo: the event's triggers are only stored in HomeSeer.
    op: 'events.delete',
    title: 'Delete an event',
    description: 'Deletes an event of HomeSeer.',
    shape: eventName,
  },
  {
    domain: 'config',
    op: 'config.device_metadata.set',
    target: ({ ref }) => `ref:${toTextOrEmpty(ref)}`,
    touched: ({ ref }) => (typeof ref === 'number' ? { refs: [ref] } : {}),
    title: 'Set a property of a device',
    description:
      'Sets name, place or note of a device. Names and places say how careful one must be, so those of locks, gates and alarms need a person’s approval, and so does any other property: an address says which hardware is moved.',
    shape: { ref: z.int().min(0), property: word, value: z.union([z.string().max(1_000), z.number(), z.boolean()]) },
    setsSecret: ({ property, value }) => typeof value !== 'boolean' && isSecretName(toTextOrEmpty(property)),
    undo: propertyBefore,
  },
  {
    ...category,
    op: 'config.category.upsert',
    title: 'Set a category',
    description: 'Creates a category or changes the rooms in it.',
    shape: { category: word, rooms: z.array(word).max(200).default([]) },
    undo: ({ args, before }) =>
      before === undefined
        ? { op: 'config.category.delete', args: { category: args['category'] ?? '' } }
        : { op: 'config.category.upsert', args: { category: args['category'] ?? '', rooms: before['rooms'] ?? [] } },
  },
  {
    ...category,
    op: 'config.category.delete',
    title: 'Delete a category',
    description: 'Deletes a category.',
    shape: { category: word },
    undo: ({ args, before }) =>
      before === undefined
        ? undefined
        : { op: 'config.category.upsert', args: { category: args['category'] ?? '', rooms: before['rooms'] ?? [] } },
  },
]

/**
 * As the plan named it: an event without an id is named by group and name, never by a number that may belong to
 * another.
 */
function whichEvent({ eventId, group = '', name = '' }: JsonObject): JsonObject {
  return eventId === undefined ? { group, name } : { eventId }
}

/**
 * An event does what it is configured to do for every caller that may run it, so the owner's list of devices applies
 * here as well.
 */
export function listEventActionDeviceRefs(given: Json | undefined): readonly number[] {
  const actions = isJsonObject(given) && Array.isArray(given['actions']) ? (given['actions'] as readonly Json[]) : []
  return actions
    .map((action) => (isJsonObject(action) ? action['ref'] : undefined))
    .filter((ref) => typeof ref === 'number')
}

/**
 * HomeSeer's property names, in lower case, and the members of a device that show them. Other properties cannot be read
 * back.
 */
export const DEVICE_PROPERTY_MEMBERS: Readonly<Record<string, string>> = {
  name: 'name',
  location: 'location',
  location2: 'location2',
  usernote: 'userNote',
}

/** Whether the property is a device's name or place. Any other property may determine which hardware it controls. */
export function isDescriptiveProperty(property: Json | undefined): boolean {
  return Object.hasOwn(DEVICE_PROPERTY_MEMBERS, toTextOrEmpty(property).toLowerCase())
}

function propertyBefore({ args, before }: AdminOperationBeforeAfter): AdminUndoOperation | undefined {
  const name = DEVICE_PROPERTY_MEMBERS[toTextOrEmpty(args['property']).toLowerCase()]
  const value = name === undefined ? undefined : before?.[name]
  if (typeof value !== 'string') return undefined
  const { ref = 0, property = '' } = args
  return { op: 'config.device_metadata.set', args: { ref, property, value } }
}
