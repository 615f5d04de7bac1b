/**
 * Event feed publisher: gathers what changes in this node and publishes it.
 *
 *   approvals · registry · resources ── subscribed ──┐
 *   calls · ledger · stop · services ── polled ──────┴▶ feed
 *
 * Counters of this process are polled, a few times a second and only while there are listeners.
 */
import type { CapabilityBus } from '../bus/bus.ts'
import type { Guard } from '../guard/guard.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { StatusView } from './api-requests.ts'
import { toApprovalView, mayReadApproval } from './approval-view.ts'
import type { EventFeed } from './event-feed.ts'
import { mayReadCallTrace, listRecentCallTraces } from './trace-view.ts'

export interface EventFeedSources {
  readonly feed: EventFeed
  readonly bus: CapabilityBus
  readonly guard: Guard
  readonly ledger: Ledger
  readonly status: () => StatusView
}

const LOOK_MS = 200
/** The state is polled only every tenth time, because computing the health of services is expensive. */
const STATE_EVERY = 10
/** Further calls between two polls are counted, not listed. */
const MAX_CALLS = 250
const MAX_NAMES = 500

export function startEventFeed(sources: EventFeedSources): () => void {
  const { feed, guard, bus } = sources
  const stops = [
    // All listeners get the same text, so it contains only what everybody may see; people who may decide request the
    // rest.
    guard.approvals.subscribe(({ approval }) =>
      feed.publish('approval', toApprovalView(bus, approval), (caller, view) =>
        mayReadApproval(caller, approval, { bus, guard }) ? view : undefined,
      ),
    ),
    watchResources(sources),
    watchRegistry(sources),
  ]
  const looks = [lookAtCalls(sources), lookAtLedger(sources)]
  const lookAtState = stateLook(sources)
  let turn = 0
  const look = (): void => {
    for (const each of looks) each()
    if (turn++ % STATE_EVERY === 0) lookAtState()
  }
  stops.push(feed.whileSubscribed(() => every(LOOK_MS, look)))
  return () => {
    for (const stop of stops) stop()
  }
}

function lookAtCalls({ feed, bus, guard }: EventFeedSources): () => void {
  let seen = bus.trace.recorded
  return () => {
    const came = bus.trace.recorded - seen
    seen += came
    if (came === 0) return
    const calls = listRecentCallTraces(bus, Math.min(came, MAX_CALLS))
    feed.publish('calls', { calls, skipped: came - calls.length }, (caller, all) => {
      const readable = calls.filter((trace) => mayReadCallTrace(caller, trace, { bus, guard }))
      return readable.length === calls.length ? all : { calls: readable, skipped: all.skipped }
    })
  }
}

function lookAtLedger({ feed, ledger }: EventFeedSources): () => void {
  let last = ''
  return () => {
    const view = {
      size: ledger.size(),
      state: ledger.state().kind,
      checkpointSize: ledger.latestCheckpoint()?.checkpoint.size ?? null,
    }
    const text = JSON.stringify(view)
    if (text !== last) feed.publish('ledger', view)
    last = text
  }
}

function stateLook({ feed, bus, status }: EventFeedSources): () => void {
  let last = ''
  return () => {
    const { stopped, mode, services } = status()
    const { inFlight } = bus.stats()
    const view = { stopped, mode, inFlight, services: services.map(({ name, status: how }) => ({ name, status: how })) }
    const text = JSON.stringify(view)
    if (text !== last) feed.publish('state', view)
    last = text
  }
}

/** A house can announce the same resource many times a second; once per poll is enough to read it again. */
function watchResources({ feed, bus }: EventFeedSources): () => void {
  const changed = new Set<string>()
  const publishChanged = (): void => {
    if (changed.size === 0) return
    feed.publish('resource', { uris: [...changed] })
    changed.clear()
  }
  return feed.whileSubscribed(() => {
    const leave = bus.onResource((uri) => {
      if (changed.size < MAX_NAMES) changed.add(uri)
    })
    const stop = every(LOOK_MS, publishChanged)
    return () => {
      stop()
      leave()
    }
  })
}

function watchRegistry({ feed, bus }: EventFeedSources): () => void {
  const added = new Set<string>()
  const removed = new Set<string>()
  let resync = false
  const events = bus.subscribe()
  const follow = async (): Promise<void> => {
    for await (const event of events) {
      if (event.kind === 'resync' || added.size + removed.size >= MAX_NAMES) resync = true
      else if (event.kind === 'removed') removed.add(event.entry.offer.name)
      else added.add(event.entry.offer.name)
    }
  }
  void follow()
  const timer = setInterval(() => {
    if (added.size + removed.size === 0 && !resync) return
    feed.publish('registry', { added: [...added], removed: [...removed], resync })
    added.clear()
    removed.clear()
    resync = false
  }, LOOK_MS)
  timer.unref()
  return () => {
    clearInterval(timer)
    void events.return?.()
  }
}

/** Does not keep the process alive by itself. */
function every(ms: number, work: () => void): () => void {
  const timer = setInterval(work, ms)
  timer.unref()
  return () => clearInterval(timer)
}
