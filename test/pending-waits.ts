/** Pending waits: what the tests of this process wait for at present, for the message that says that they hang. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'

interface PendingWaits {
  readonly running: Set<{ readonly name: string; readonly log: () => string }>
  readonly requests: Map<PendingRequest, number>
  polledAtMs: number
  /** Requests that began or ended so far. */
  requestEvents: number
}

// One for the process: Vitest gives its runner another instance of this module than it gives the tests.
const shared = globalThis as typeof globalThis & { hearthbusPendingWaits?: PendingWaits }
const pending = (shared.hearthbusPendingWaits ??= {
  running: new Set(),
  requests: new Map(),
  polledAtMs: -Infinity,
  requestEvents: 0,
})

/** Processes that have something to say, such as gateways. */
export const { running } = pending

/** A loop asks once more whether its condition holds. */
export function notePoll(): void {
  pending.polledAtMs = performance.now()
}

export function isPolling(withinMs: number): boolean {
  return performance.now() - pending.polledAtMs < withinMs
}

interface PendingRequest {
  readonly origin: string
  readonly method: string
  readonly path: string
}

/** Requests made with `fetch`, which Node's undici reports, from now on until the returned function is called. */
export function watchRequests(): () => void {
  const begin = (message: unknown): void => {
    pending.requests.set(requestOf(message), performance.now())
    pending.requestEvents++
  }
  const end = (message: unknown): void => {
    pending.requests.delete(requestOf(message))
    pending.requestEvents++
  }
  const channels = [
    ['undici:request:create', begin],
    ['undici:request:trailers', end],
    ['undici:request:error', end],
  ] as const
  for (const [name, listener] of channels) subscribe(name, listener)
  return () => {
    for (const [name, listener] of channels) unsubscribe(name, listener)
  }
}

export function countRequestEvents(): number {
  return pending.requestEvents
}

function requestOf(message: unknown): PendingRequest {
  return (message as { readonly request: PendingRequest }).request
}

const LAST_LINES = 15

/** One line for each request without an end, for each kind of open resource, and the last lines of each log. */
export function describePendingWaits(): string {
  const nowMs = performance.now()
  const unanswered = [...pending.requests].map(
    ([{ method, origin, path }, sinceMs]) =>
      `no end yet of ${method} ${origin}${path}, after ${Math.round((nowMs - sinceMs) / 1_000)} s`,
  )
  const resources = Map.groupBy(process.getActiveResourcesInfo(), (kind) => kind)
  const open = [...resources].map(([kind, { length }]) => (length === 1 ? kind : `${kind} × ${length}`)).join(', ')
  const logs = [...running].map(({ name, log }) => `${name} said last:\n${lastLines(log())}`)
  return [...unanswered, `open in this process: ${open}`, ...logs].join('\n')
}

function lastLines(log: string): string {
  return log.trimEnd().split('\n').slice(-LAST_LINES).join('\n')
}
