/**
 * Event feed: recent events, numbered, so that a page that was disconnected for a moment can continue where it stopped.
 *
 *   publish ▸ ring of the last 2,000 events ▸ every listener        id = <start of this process>-<number>
 *
 * Pure, given an id of this start.
 */
import type { Caller } from '../bus/call.ts'
import type { ConsoleStreamEvents } from './views.ts'

export interface FeedEvent {
  readonly id: string
  readonly name: keyof ConsoleStreamEvents
  /** JSON, created once for all listeners that may see all of it. */
  readonly data: string
  /** What a listener may see of it; `undefined` for nothing. */
  readonly dataFor: (caller: Caller) => string | undefined
}

/** What a caller may see of an event: all of it (the value itself), a part, or nothing. */
export type FeedVisibilityFilter<Data> = (caller: Caller, data: Data) => Data | undefined

export interface EventFeed {
  readonly publish: <Name extends keyof ConsoleStreamEvents>(
    name: Name,
    data: ConsoleStreamEvents[Name],
    filter?: FeedVisibilityFilter<ConsoleStreamEvents[Name]>,
  ) => void
  readonly subscribe: (listener: (event: FeedEvent) => void) => () => void
  /** The events after that id; `undefined` when some of them are not, or no longer, available. */
  readonly since: (lastEventId: string) => readonly FeedEvent[] | undefined
  readonly latestId: () => string
  /** Runs `start` when there is a listener, and the function that it returned when the last one has gone. */
  readonly whileSubscribed: (start: () => () => void) => () => void
}

const RING = 2_000
/** Some events are large, so the ring buffer is bounded in characters as well. */
const MAX_CHARACTERS = 8_000_000

export function createEventFeed(run: string, size = RING): EventFeed {
  const ring: FeedEvent[] = []
  const listeners = new Set<(event: FeedEvent) => void>()
  const running = new Map<() => () => void, () => void>()
  const starts = new Set<() => () => void>()
  let published = 0
  let characters = 0

  const isFull = (): boolean => ring.length > size || (characters > MAX_CHARACTERS && ring.length > 1)

  function stop(start: () => () => void): void {
    running.get(start)?.()
    running.delete(start)
  }

  return {
    publish: (name, data, filter) => {
      const text = JSON.stringify(data)
      const dataFor = (caller: Caller): string | undefined => {
        const part = filter === undefined ? data : filter(caller, data)
        return part === data ? text : part && JSON.stringify(part)
      }
      const event: FeedEvent = { id: `${run}-${++published}`, name, data: text, dataFor }
      ring.push(event)
      characters += event.data.length
      while (isFull()) characters -= ring.shift()?.data.length ?? 0
      for (const listener of listeners) listener(event)
    },
    subscribe: (listener) => {
      listeners.add(listener)
      if (listeners.size === 1) for (const start of starts) running.set(start, start())
      return () => {
        if (listeners.delete(listener) && listeners.size === 0) for (const start of starts) stop(start)
      }
    },
    whileSubscribed: (start) => {
      starts.add(start)
      if (listeners.size > 0) running.set(start, start())
      return () => {
        starts.delete(start)
        stop(start)
      }
    },
    since: (lastEventId) => {
      const [from, number] = split(lastEventId)
      if (from !== run || number === undefined || number > published) return undefined
      const missed = published - number
      return missed > ring.length ? undefined : ring.slice(ring.length - missed)
    },
    latestId: () => `${run}-${published}`,
  }
}

function split(id: string): readonly [string, number | undefined] {
  const dash = id.lastIndexOf('-')
  const digits = id.slice(dash + 1)
  return [id.slice(0, Math.max(0, dash)), /^\d{1,15}$/.test(digits) ? Number(digits) : undefined]
}
