/**
 * Event read tools: list and get.
 *
 * Reads through the link and the event files.
 */
import { z } from 'zod'
import type { Capability } from '../../bus/capability.ts'
import { defineTool } from '../../bus/capability-definition.ts'
import type { Fault } from '../../core/fault.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { fail, ok, type Result } from '../../core/result.ts'
import { assignEventNumbers, findEvents } from '../catalog/event-search.ts'
import type { ReceivedEvent } from '../wire/event.ts'
import { createHomeseerAnswer, findEventDefinition, type HomeseerToolContext } from './homeseer-tools.ts'
import { toActionBlockJson, toTriggerJson } from './event-definition-view.ts'
import { homeseerFamily } from './homeseer-envelope.ts'
import {
  createHomeseerArgumentFault,
  createHs4Fault,
  createHomeseerReadFault,
  type SuggestedToolCall,
} from './faults.ts'
import { pageCursorArgument, cutNumberedPage } from './paging.ts'
import { createTolerantInputSchema } from './homeseer-change.ts'

const common = { family: homeseerFamily, effect: 'reads' } as const

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

export interface SelectedEvent {
  readonly event: ReceivedEvent
  readonly matchedBy: 'id' | 'group_name'
}

/** The one event that is named; group and name become an id here, because lists and locks know ids. */
export async function findSelectedEvent(
  homeseer: HomeseerToolContext,
  wanted: EventSelector,
): Promise<Result<SelectedEvent, Fault>> {
  const { id, group, name } = wanted
  const asked = id !== undefined ? { id } : group !== undefined && name !== undefined ? { group, name } : undefined
  if (asked === undefined) return fail(createMissingEventSelectorFault())
  const named = await eventsNamed(homeseer, asked)
  if (!named.ok) return named
  // Two events may be called exactly alike; which of them is meant only an id can say.
  const [event, ...others] = named.value
  if (event === undefined) return fail(createNoEventFault(wanted))
  if (others.length > 0) return fail(createAmbiguousEventFault([event, ...others]))
  // Both given: they must be the same event, lest a list be passed with one and another be run.
  if (id !== undefined && !agrees(event, wanted))
    return fail(createHomeseerArgumentFault('name', `event ${id} is not called that`))
  return ok({ event, matchedBy: id === undefined ? 'group_name' : 'id' })
}

/** Worth one more question before saying no: an event may be newer than our list. */
async function eventsNamed(
  { catalog }: HomeseerToolContext,
  asked: Parameters<typeof findEvents>[1],
): Promise<Result<readonly ReceivedEvent[], Fault>> {
  for (const fresh of [false, true]) {
    const events = await catalog.events(fresh)
    if (!events.ok) return fail(createHomeseerReadFault(events.fault, 'reading the events'))
    const found = findEvents(events.value, asked)
    if (found.length > 0) return ok(found)
  }
  return ok([])
}

function agrees(event: ReceivedEvent, { group, name }: EventSelector): boolean {
  const same = (left: string, right = left): boolean => left.trim().toLowerCase() === right.trim().toLowerCase()
  return same(event.group, group) && same(event.name, name)
}

/** For a caller who has not said which. */
export function createMissingEventSelectorFault(): Fault {
  return createHomeseerArgumentFault('id', 'give an id, or group and name', { next: [LIST_EVENTS] })
}

/** With a search for what was meant, where there is a name to search with. */
export function createNoEventFault(wanted: EventSelector): Fault {
  const { id, group = '', name = '' } = wanted
  const what = id === undefined ? `${group} / ${name}` : String(id)
  return createHs4Fault('NOT_FOUND', `HomeSeer has no event ${what}.`, {
    details: { ...wanted },
    next: [name === '' ? LIST_EVENTS : { name: 'hs4.resolve.events', args: { query: name, limit: 5 } }],
  })
}

/** For a name that only an id can tell from another. */
export function createAmbiguousEventFault(events: readonly Pick<ReceivedEvent, 'id'>[]): Fault {
  const ids = events.map(({ id }) => id ?? null)
  return createHomeseerArgumentFault('name', 'several events are called exactly that; use an id', {
    details: { ids },
    next: events.flatMap(({ id }) => (id === undefined ? [] : [{ name: 'hs4.events.get', args: { id } }])),
  })
}

function list(homeseer: HomeseerToolContext): Capability {
  return defineTool({
    ...common,
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
    const numbers = assignEventNumbers(events.value)
    const numberOf = (event: ReceivedEvent): number => numbers.get(event) ?? 0
    const found = events.value
      .filter(({ group, name }) => holds(group, filters.groupContains) && holds(name, filters.nameContains))
      .toSorted((left, right) => numberOf(left) - numberOf(right))
    const page = cutNumberedPage(found, numberOf, { list: 'events', filters, limit, offset: 0, cursor })
    if (!page.ok) return page
    return createHomeseerAnswer({
      total: found.length,
      returned: page.value.items.length,
      nextCursor: page.value.nextCursor,
      items: page.value.items.map((event) => ({ ...toEventJson(event), raw: event.raw })),
    })
  })
}

export function toEventJson({ id, group, name, voiceCommand, voiceEnabled }: ReceivedEvent): JsonObject {
  return { id: id ?? null, group, name, voiceCommand, voiceEnabled }
}

/** Members of HomeSeer's event record that some versions add to say how an event works. */
const EXTENDED = /^(trigger|action|condition|definition)/i

function get(homeseer: HomeseerToolContext): Capability {
  return defineTool({
    ...common,
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
    // HomeSeer's files say more than its answer; without them, its answer has to do.
    const stored = event.id === undefined ? undefined : await findEventDefinition(homeseer, event.id)
    const said = (word: RegExp): Json => event.raw[extended.find((key) => word.test(key)) ?? ''] ?? null
    return createHomeseerAnswer({
      matchedBy,
      ...toEventJson(event),
      details: {
        hasRawRecord: keys.length > 0,
        hasExtendedDefinition: extended.length > 0 || stored !== undefined,
        rawKeys: keys,
        extendedKeys: extended,
        trigger:
          stored === undefined ? said(/^trigger/i) : stored.triggerGroups.map((group) => group.map(toTriggerJson)),
        actions: stored === undefined ? said(/^action/i) : stored.blocks.map(toActionBlockJson),
        conditions: stored === undefined ? said(/^condition/i) : stored.blocks.map(({ conditions }) => [...conditions]),
        definition: said(/^definition/i),
      },
      ...(includeRaw ? { raw: event.raw } : {}),
    })
  })
}
