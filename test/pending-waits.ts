/** Pending waits: what the tests of this process wait for at present, for the message that says that they hang. */
import { subscribe } from 'node:diagnostics_channel'

interface PendingWaits {
  readonly running: Set<{ readonly name: string; readonly log: () => string }>
  polledAtMs: number
}

// One for the process: Vitest gives its runner another instance of this module than it gives the tests.
const shared = globalThis as typeof globalThis & { hearthbusPendingWaits?: PendingWaits }
const pending = (shared.hearthbusPendingWaits ??= { running: new Set(), polledAtMs: -Infinity })

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
const requests = new Map<PendingRequest, number>()

/** Requests made with `fetch`, which Node's undici reports, from now on. */
export function watchRequests(): void {
  subscribe('undici:request:create', (message) => {
    requests.set((message as { request: PendingRequest }).request, performance.now())
  })
  for (const ending of ['undici:request:trailers', 'undici:request:error']) {
    subscribe(ending, (message) => void requests.delete((message as { request: PendingRequest }).request))
  }
}

const LAST_LINES = 15

/** One line for each request without an end, for each kind of open resource, and the last lines of each log. */
export function describePendingWaits(): string {
  const nowMs = performance.now()
  const unanswered = [...requests].map(
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
