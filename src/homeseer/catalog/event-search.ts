/**
 * Event: finding one automation of the house among the others.
 */
import type { ReceivedEvent } from '../wire/event.ts'

/**
 * HomeSeer does not mind the case of group and name. Several events can share both; the caller must then ask for an id.
 */
export function findEvents(
  events: readonly ReceivedEvent[],
  wanted: { readonly id: number } | { readonly group: string; readonly name: string },
): readonly ReceivedEvent[] {
  if ('id' in wanted) return events.filter((event) => event.id === wanted.id)
  const same = (left: string, right: string) => left.trim().toLowerCase() === right.trim().toLowerCase()
  return events.filter((event) => same(event.group, wanted.group) && same(event.name, wanted.name))
}

/**
 * A number for each event, by which lists are ordered and paged: its id or, for the events of older HomeSeers, which
 * have none, a place below zero. No two are equal, so no page hides one.
 */
export function assignEventNumbers(events: readonly ReceivedEvent[]): ReadonlyMap<ReceivedEvent, number> {
  const nameless = events.filter(({ id }) => id === undefined)
  const places = new Map(nameless.map((event, at) => [event, at - nameless.length] as const))
  return new Map(events.map((event) => [event, event.id ?? places.get(event) ?? 0]))
}
