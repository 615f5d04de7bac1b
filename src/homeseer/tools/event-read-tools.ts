/** Event read tools: list and get. */
import { z } from 'zod'
import type { Capability } from '../../bus/capability.ts'
import { defineTool } from '../../bus/capability-definition.ts'
import type { Fault } from '../../core/fault.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import type { EventDefinition } from '../catalog/event-definition.ts'
import {
  assignEventPagingNumbers,
  findEventsByIdOrName,
  isSameHomeseerName,
  type EventReference,
  type NamedEvent,
} from '../catalog/event-search.ts'
import type { ReceivedEventRecord } from '../wire/event.ts'
import type { HomeseerToolContext } from './homeseer-tool-context.ts'
import { toActionBlockJson, toTriggerJson } from './event-definition-view.ts'
import { createHomeseerOutcome, HOMESEER_READ_DEFAULTS } from './homeseer-envelope.ts'
import {
  createHomeseerArgumentFault,
  createHs4Fault,
  createHomeseerReadFault,
  type SuggestedToolCall,
} from './faults.ts'
import { pageCursorArgument, cutPageByItemNumber } from './paging.ts'
import { createTolerantInputSchema } from './homeseer-change.ts'

/** The two ways to name an event. */
export const EVENT_SELECTOR_SCHEMAS = {
  id: z.int().min(0).exactOptional().describe('The event’s id.'),
  group: z.string().min(1).max(200).exactOptional().describe('Its group; with `name`.'),
  name: z.string().min(1).max(200).exactOptional().describe('Its exact name; with `group`.'),
}

export interface EventSelector {
  readonly id?: number
  readonly group?: string
  readonly name?: string
}

const LIST_EVENTS: SuggestedToolCall = { name: 'hs4.events.list', args: { limit: 100 } }

export function createEventReadTools(homeseer: HomeseerToolContext): readonly Capability[] {
  return [list(homeseer), get(homeseer)]
}

export interface SelectedEvent<Event> {
  readonly event: Event
  readonly matchedBy: 'id' | 'group_name'
}

/** The selected event; group and name are resolved to an id, because lists and locks use ids. */
export async function findSelectedEvent(
  homeseer: HomeseerToolContext,
  wanted: EventSelector,
): Promise<Result<SelectedEvent<ReceivedEventRecord>, Fault>> {
  const { id } = wanted
  const query = toEventQuery(wanted)
  if (!query.ok) return query
  const selected = await selectListedEvent(homeseer, wanted)
  // If both are given, they must name the same event, so that a list is not checked for one and another is run.
  if (selected.ok && id !== undefined && !agrees(selected.value.event, wanted))
    return fail(createHomeseerArgumentFault('name', `event ${id} is not called that`))
  return selected
}

async function selectListedEvent(
  homeseer: HomeseerToolContext,
  wanted: EventSelector,
  fresh = false,
): Promise<Result<SelectedEvent<ReceivedEventRecord>, Fault>> {
  const events = await homeseer.catalog.events(fresh)
  if (!events.ok) return fail(createHomeseerReadFault(events.fault, 'reading the events'))
  const selected = selectEvent(events.value, wanted)
  // One more request before reporting that it does not exist, because an event may be newer than the list.
  const isMissing = !selected.ok && selected.fault.kind === 'not-found'
  return isMissing && !fresh ? selectListedEvent(homeseer, wanted, true) : selected
}

/** The one event of a list that is named by its id, or by group and name. */
export function selectEvent<Event extends NamedEvent>(
  events: readonly Event[],
  wanted: EventSelector,
): Result<SelectedEvent<Event>, Fault> {
  const query = toEventQuery(wanted)
  if (!query.ok) return query
  // Two events may have the same name; only an id tells them apart.
  const [event, ...others] = findEventsByIdOrName(events, query.value)
  if (event === undefined) return fail(createNoEventFault(wanted))
  if (others.length > 0) return fail(createAmbiguousEventFault([event, ...others]))
  return ok({ event, matchedBy: wanted.id === undefined ? 'group_name' : 'id' })
}

function toEventQuery({ id, group, name }: EventSelector): Result<EventReference, Fault> {
  if (id !== undefined) return ok({ id })
  if (group !== undefined && name !== undefined) return ok({ group, name })
  return fail(createHomeseerArgumentFault('id', 'give an id, or group and name', { next: [LIST_EVENTS] }))
}

function agrees(event: ReceivedEventRecord, { group, name }: EventSelector): boolean {
  return isSameHomeseerName(event.group, group ?? event.group) && isSameHomeseerName(event.name, name ?? event.name)
}

/** The fault for an unknown event, with a search if a name was given. */
function createNoEventFault(wanted: EventSelector): Fault {
  const { id, group = '', name = '' } = wanted
  const what = id === undefined ? `${group} / ${name}` : String(id)
  return createHs4Fault('NOT_FOUND', `HomeSeer has no event ${what}.`, {
    details: { ...wanted },
    next: [name === '' ? LIST_EVENTS : { name: 'hs4.resolve.events', args: { query: name, limit: 5 } }],
  })
}

/** The fault for a name that several events share. */
function createAmbiguousEventFault(events: readonly Pick<ReceivedEventRecord, 'id'>[]): Fault {
  const ids = events.map(({ id }) => id ?? null)
  return createHomeseerArgumentFault('name', 'several events are called exactly that; use an id', {
    details: { ids },
    next: events.flatMap(({ id }) => (id === undefined ? [] : [{ name: 'hs4.events.get', args: { id } }])),
  })
}

function list(homeseer: HomeseerToolContext): Capability {
  return defineTool({
    ...HOMESEER_READ_DEFAULTS,
    name: 'hs4.events.list',
    title: 'List events',
    description: 'Lists HomeSeer’s events (automations and scenes), by part of their group or name.',
    input: createTolerantInputSchema({
      groupContains: z.string().max(200).exactOptional(),
      nameContains: z.string().max(200).exactOptional(),
      limit: z.int().min(1).max(5_000).default(500),
      cursor: pageCursorArgument.describe('`nextCursor` of the page before, with the same filters.'),
    }),
    output: z.looseObject({ total: z.int(), items: z.array(z.looseObject({ group: z.string(), name: z.string() })) }),
  }).handledBy(async ({ limit, cursor, ...filters }) => {
    const events = await homeseer.catalog.events()
    if (!events.ok) return fail(createHomeseerReadFault(events.fault, 'reading the events'))
    const holds = (text: string, part = ''): boolean => text.toLowerCase().includes(part.toLowerCase())
    const numbers = assignEventPagingNumbers(events.value)
    const numberOf = (event: ReceivedEventRecord): number => numbers.get(event) ?? 0
    const found = events.value
      .filter(({ group, name }) => holds(group, filters.groupContains) && holds(name, filters.nameContains))
      .toSorted((left, right) => numberOf(left) - numberOf(right))
    const page = cutPageByItemNumber(found, numberOf, { list: 'events', filters, limit, offset: 0, cursor })
    if (!page.ok) return page
    return createHomeseerOutcome({
      total: found.length,
      returned: page.value.items.length,
      nextCursor: page.value.nextCursor,
      items: page.value.items.map((event) => ({ ...toEventJson(event), raw: event.raw })),
    })
  })
}

export function toEventJson({ id, group, name, voiceCommand, voiceEnabled }: ReceivedEventRecord): JsonObject {
  return { id: id ?? null, group, name, voiceCommand, voiceEnabled }
}

/** Members of HomeSeer's event record that some versions add to say how an event works. */
const EXTENDED = /^(trigger|action|condition|definition)/i

function get(homeseer: HomeseerToolContext): Capability {
  return defineTool({
    ...HOMESEER_READ_DEFAULTS,
    name: 'hs4.events.get',
    title: 'Get an event',
    description: 'Shows one event, by id or by exact group and name, and what HomeSeer says about how it works.',
    input: createTolerantInputSchema({ ...EVENT_SELECTOR_SCHEMAS, includeRaw: z.boolean().default(true) }),
    output: z.looseObject({ matchedBy: z.enum(['id', 'group_name']), details: z.looseObject({}) }),
  }).handledBy(async ({ includeRaw, ...wanted }) => {
    const found = await findSelectedEvent(homeseer, wanted)
    if (!found.ok) return found
    const { event, matchedBy } = found.value
    const keys = Object.keys(event.raw)
    const extended = keys.filter((key) => EXTENDED.test(key))
    // HomeSeer's files have more than its answer; without them the answer is used.
    const stored = event.id === undefined ? undefined : await findEventDefinition(homeseer, event.id)
    const field = (word: RegExp): Json => event.raw[extended.find((key) => word.test(key)) ?? ''] ?? null
    return createHomeseerOutcome({
      matchedBy,
      ...toEventJson(event),
      details: {
        hasRawRecord: keys.length > 0,
        hasExtendedDefinition: extended.length > 0 || stored !== undefined,
        rawKeys: keys,
        extendedKeys: extended,
        trigger:
          stored === undefined ? field(/^trigger/i) : stored.triggerGroups.map((group) => group.map(toTriggerJson)),
        actions: stored === undefined ? field(/^action/i) : stored.blocks.map(toActionBlockJson),
        conditions:
          stored === undefined ? field(/^condition/i) : stored.blocks.map(({ conditions }) => [...conditions]),
        definition: field(/^definition/i),
      },
      ...(includeRaw ? { raw: event.raw } : {}),
    })
  })
}

/** The definition of an event if HomeSeer's files can be read; if not, that is no failure here. */
async function findEventDefinition(
  { eventFiles }: HomeseerToolContext,
  id: number,
): Promise<EventDefinition | undefined> {
  const files = await eventFiles.read()
  return files.ok ? files.value.definitions.find((one) => one.id === id) : undefined
}
