/**
 * Event: one automation of the house, and why running it may need a person's consent.
 *
 * Pure.
 */
import type { ReceivedEvent } from '../wire/event.ts'
import type { EventDefinition } from './event-definition.ts'
import type { House } from './house.ts'
import { OMINOUS_WORDS } from './sensitivity.ts'
import { hasAny, wordsOf } from './word.ts'

export type EventSensitivityReason =
  | 'touches-sensitive-device'
  | 'runs-script'
  | 'unknown-action'
  | 'security-flag'
  | 'named-so'

/**
 * With its definition at hand an event is judged by what it does, and a frightening name alone does not count. A script
 * can do anything, and so can an action of a kind that we cannot read, or on a device that we cannot see: it may run
 * another event, or a plug-in that unlocks. Without a definition only the name is left.
 */
export function eventSensitivity(
  event: Pick<ReceivedEvent, 'name' | 'group'>,
  definition: EventDefinition | undefined,
  house: House,
): readonly EventSensitivityReason[] {
  const reasons: EventSensitivityReason[] = []
  const set = (definition?.actionRefs ?? []).map((ref) => house.byRef.get(ref))
  if (set.some((device) => device !== undefined && device.sensitivity.length > 0))
    reasons.push('touches-sensitive-device')
  const actions = definition?.blocks.flatMap((block) => block.actions) ?? []
  const isUnread = definition?.isUnread === true
  if (definition?.runsScript === true) reasons.push('runs-script')
  const isStrange = actions.some((one) => one.deviceActions.length === 0 && one.script === undefined)
  if (isUnread || isStrange || set.includes(undefined)) reasons.push('unknown-action')
  if (definition?.security === true) reasons.push('security-flag')
  const isUnderstood = definition !== undefined && !isUnread && actions.every((one) => one.deviceActions.length > 0)
  if (!isUnderstood && hasAny(wordsOf(event.name, event.group), OMINOUS_WORDS)) reasons.push('named-so')
  return reasons
}

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
export function eventNumbers(events: readonly ReceivedEvent[]): ReadonlyMap<ReceivedEvent, number> {
  const nameless = events.filter(({ id }) => id === undefined)
  const places = new Map(nameless.map((event, at) => [event, at - nameless.length] as const))
  return new Map(events.map((event) => [event, event.id ?? places.get(event) ?? 0]))
}
