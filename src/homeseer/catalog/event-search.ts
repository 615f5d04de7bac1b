/**
 * Event search: finds one automation of the house by id or name.
 */
import type { ReceivedEventRecord } from '../wire/event.ts'

/** The fields that identify an event on the wire and in HomeSeer's files. */
export interface NamedEvent {
  readonly id: number | undefined
  readonly group: string
  readonly name: string
}

export type EventReference = { readonly id: number } | { readonly group: string; readonly name: string }

/** HomeSeer shows names as the owner typed them, so case and blanks at the ends are ignored. */
export function isSameHomeseerName(left: string, right: string): boolean {
  return left.trim().toLowerCase() === right.trim().toLowerCase()
}

/** Several events can share group and name; the caller must then ask for an id. */
export function findEventsByIdOrName<Event extends NamedEvent>(
  events: readonly Event[],
  wanted: EventReference,
): readonly Event[] {
  if ('id' in wanted) return events.filter((event) => event.id === wanted.id)
  return events.filter(
    (event) => isSameHomeseerName(event.group, wanted.group) && isSameHomeseerName(event.name, wanted.name),
  )
}

/**
 * A number for each event, by which lists are ordered and paged: its id or, for events of older HomeSeers without ids,
 * a number below zero. All numbers differ, so no page hides an event.
 */
export function assignEventPagingNumbers(
  events: readonly ReceivedEventRecord[],
): ReadonlyMap<ReceivedEventRecord, number> {
  const nameless = events.filter(({ id }) => id === undefined)
  const places = new Map(nameless.map((event, at) => [event, at - nameless.length] as const))
  return new Map(events.map((event) => [event, event.id ?? places.get(event) ?? 0]))
}
