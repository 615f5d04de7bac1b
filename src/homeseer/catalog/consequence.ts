/**
 * Consequence: what a change sets in motion beside itself, by way of HomeSeer's events.
 *
 *   a device is written ─▶ events that it can set off ─▶ devices that they set ─▶ …        an event is run ─▶ the same
 *
 * HomeSeer runs an event whenever its trigger is met, whoever wrote the value, also where only its memory was written.
 * All members of one physical device count as written: a lamp that goes on moves its power meter, too. Conditions do not
 * excuse, nor does an event that is switched off: both may be otherwise by the time it happens.
 *
 * Pure.
 */
import type { EventDefinition } from './event-definition.ts'

/** Why nobody can say that this is all. */
export type ConsequenceDoubt =
  /** An action, or a part of the file, that is not understood. */
  | 'unknown-action'
  /** Code can do anything. */
  | 'runs-script'
  /** HomeSeer has an event that the definitions do not tell of. */
  | 'unknown-event'
  /** It goes on further than anybody follows. */
  | 'too-far'

export interface ConsequenceStep {
  readonly eventId: number
  readonly group: string
  readonly name: string
  /** The device that sets it off, or the event that runs it; `undefined` for the event that was asked for. */
  readonly because: { readonly ref: number } | { readonly eventId: number } | undefined
  readonly sets: readonly number[]
  /** Members of the file that are not understood. */
  readonly unknown: readonly string[]
}

export interface Consequences {
  readonly steps: readonly ConsequenceStep[]
  /** Devices that are set, without those that were asked for. */
  readonly refs: readonly number[]
  readonly eventIds: readonly number[]
  readonly doubts: readonly ConsequenceDoubt[]
  /** HomeSeer's own mark for events that guard the house, on one of them. */
  readonly security: boolean
}

export const NO_CONSEQUENCES: Consequences = { steps: [], refs: [], eventIds: [], doubts: [], security: false }

/** What is known of all events, prepared so that following costs as much as it finds. */
export interface EventGraph {
  readonly byId: ReadonlyMap<number, EventDefinition>
  readonly byTrigger: ReadonlyMap<number, readonly EventDefinition[]>
  /** Set off by any device, or by what we cannot tell. */
  readonly byAnything: readonly EventDefinition[]
}

/** More than any house chains on purpose. */
const MAX_EVENTS = 200

export function buildEventGraph(definitions: readonly EventDefinition[]): EventGraph {
  const byTrigger = new Map<number, EventDefinition[]>()
  for (const definition of definitions)
    for (const ref of definition.triggerReach.refs) {
      const known = byTrigger.get(ref)
      if (known === undefined) byTrigger.set(ref, [definition])
      else known.push(definition)
    }
  return {
    byId: new Map(definitions.map((definition) => [definition.id, definition])),
    byTrigger,
    byAnything: definitions.filter(({ triggerReach }) => triggerReach.anyDevice),
  }
}

export interface ConsequenceStart {
  /** Devices that are written. */
  readonly refs?: readonly number[]
  /** An event that is run; `undefined` where it is unknown to the definitions. */
  readonly event?: EventDefinition
}

/** `relativesOf` gives all members of the physical device that a ref belongs to. */
export function followConsequences(
  graph: EventGraph,
  start: ConsequenceStart,
  relativesOf: (ref: number) => readonly number[],
): Consequences {
  const steps = new Map<number, ConsequenceStep>()
  const doubts = new Set<ConsequenceDoubt>()
  const written = new Set<number>()
  const set = new Set<number>()
  let security = false
  const queue: Queued[] = []

  const write = (ref: number): void => {
    for (const member of [ref, ...relativesOf(ref)]) {
      if (written.has(member)) continue
      written.add(member)
      for (const definition of graph.byTrigger.get(member) ?? []) queue.push({ definition, because: { ref: member } })
    }
    for (const definition of graph.byAnything) queue.push({ definition, because: { ref } })
  }

  const run = ({ definition, because }: Queued): void => {
    const { id, group, name, actionRefs, unknown, mayRun } = definition
    if (steps.has(id)) return
    if (steps.size >= MAX_EVENTS) {
      doubts.add('too-far')
      return
    }
    steps.set(id, { eventId: id, group, name, because, sets: actionRefs, unknown })
    if (definition.security) security = true
    if (definition.runsScript) doubts.add('runs-script')
    if (unknown.length > 0) doubts.add('unknown-action')
    for (const next of mayRun) {
      const other = graph.byId.get(next)
      if (other !== undefined) queue.push({ definition: other, because: { eventId: id } })
    }
    for (const ref of actionRefs) {
      set.add(ref)
      write(ref)
    }
  }

  for (const ref of start.refs ?? []) write(ref)
  if (start.event !== undefined) queue.push({ definition: start.event, because: undefined })
  for (let at = 0; at < queue.length; at++) {
    const next = queue[at]
    if (next !== undefined) run(next)
  }
  const asked = new Set(start.refs)
  return {
    steps: [...steps.values()],
    refs: [...set].filter((ref) => !asked.has(ref)),
    eventIds: [...steps.keys()],
    doubts: [...doubts],
    security,
  }
}

interface Queued {
  readonly definition: EventDefinition
  readonly because: ConsequenceStep['because']
}
