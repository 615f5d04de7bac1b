/**
 * Connection limiter: how many connections a listener holds, and which one is closed when there are too many.
 *
 *   connection ▸ unauthenticated ──authenticate──▶ of a principal, which has a limit of its own
 *                  └─ too many: the longest silent one is closed; one that is being answered is not silent
 *
 * Connecting needs no credential, so refusing new connections would let anybody keep all others out by opening
 * connections and sending nothing (denial of service). Closing the longest silent one instead accepts every new
 * connection, and does not affect a client that sends requests. Connections of authenticated principals are never
 * closed to make room for unauthenticated ones.
 *
 * Holds the connections that are open.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export interface ClosableConnection {
  readonly on: (event: 'close', listener: (this: never) => void) => unknown
  readonly destroy: () => unknown
}

export interface ConnectionLimits {
  readonly maxUnauthenticated: number
  /** The limit per principal; without it principals have no limit. */
  readonly maxPerPrincipal?: number
}

export class ConnectionLimiter<Connection extends ClosableConnection = ClosableConnection> {
  readonly #limits: ConnectionLimits
  /** Each with a function that tells whether it is being answered; the longest silent first. */
  readonly #unauthenticated = new Map<Connection, (() => boolean) | undefined>()
  readonly #principals = new Map<Connection, string>()
  readonly #countByPrincipal = new Map<string, number>()
  /** One function for every connection: an event emitter calls it as a method of the connection that has closed. */
  readonly #onClose: (this: Connection) => void

  constructor(limits: ConnectionLimits) {
    this.#limits = limits
    const release = (connection: Connection) => this.#release(connection)
    this.#onClose = function (this: Connection) {
      release(this)
    }
  }

  get unauthenticated(): number {
    return this.#unauthenticated.size
  }

  /** Accepts a new connection, and closes the longest silent one when there are too many. */
  accept(connection: Connection): void {
    this.#unauthenticated.set(connection, undefined)
    connection.on('close', this.#onClose)
    if (this.#unauthenticated.size <= this.#limits.maxUnauthenticated) return
    // If all others are being answered, the new connection itself is closed.
    this.#close(this.#longestSilent() ?? connection)
  }

  /** A request has arrived on the connection; `isBusy` tells whether it is still being answered. */
  recordActivity(connection: Connection, isBusy?: () => boolean): void {
    // Deleted and set again, so that the order of the map is the order of the last activity.
    if (this.#unauthenticated.delete(connection)) this.#unauthenticated.set(connection, isBusy)
  }

  /** Counts a connection towards its principal's limit; closes it if that limit is reached. */
  authenticate(connection: Connection, principal: string): void {
    const { maxPerPrincipal } = this.#limits
    const isKnown = this.#unauthenticated.delete(connection)
    if (maxPerPrincipal === undefined) return
    if (!isKnown) connection.on('close', this.#onClose)
    const count = this.#countByPrincipal.get(principal) ?? 0
    if (count >= maxPerPrincipal) {
      connection.destroy()
      return
    }
    this.#countByPrincipal.set(principal, count + 1)
    this.#principals.set(connection, principal)
  }

  isUnauthenticated(connection: Connection): boolean {
    return this.#unauthenticated.has(connection)
  }

  #longestSilent(): Connection | undefined {
    for (const [connection, isBusy] of this.#unauthenticated) if (isBusy?.() !== true) return connection
    return undefined
  }

  #close(connection: Connection): void {
    this.#unauthenticated.delete(connection)
    connection.destroy()
  }

  #release(connection: Connection): void {
    this.#unauthenticated.delete(connection)
    const principal = this.#principals.get(connection)
    if (principal === undefined) return
    this.#principals.delete(connection)
    const count = (this.#countByPrincipal.get(principal) ?? 1) - 1
    if (count === 0) this.#countByPrincipal.delete(principal)
    else this.#countByPrincipal.set(principal, count)
  }
}

/**
 * For a server's `request` event. Returns `false` when the client sent this request before the answer to its last one
 * (pipelining, RFC 9112 § 9.3.2, which clients no longer use); its connection is then closed, because answering
 * hundreds of requests that came at once would keep all other clients waiting.
 */
export function admitUnpipelinedRequest(
  limiter: ConnectionLimiter<Socket>,
  { socket }: IncomingMessage,
  response: ServerResponse,
): boolean {
  // Node assigns the socket to one response at a time, and goes on parsing requests that arrived before the connection
  // was closed.
  if (socket.destroyed || response.socket === null) {
    socket.destroy()
    return false
  }
  limiter.recordActivity(socket, () => isAwaitingResponse(response))
  return true
}

/**
 * Whether a complete request waits for its response: one that is incomplete, or whose response is not read, counts as
 * silent.
 */
function isAwaitingResponse(response: ServerResponse): boolean {
  return response.req.complete && !response.writableEnded
}
