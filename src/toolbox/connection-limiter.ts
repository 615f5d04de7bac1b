/**
 * Connection limiter: how many connections a listener holds, and which one is closed when there are too many.
 *
 *   connection ▸ unauthenticated ──authenticate──▶ of a principal, which has a limit of its own
 *                  └─ too many: the longest silent one is closed; one that is being answered is not silent
 *
 * To connect takes no credential, so refusing newcomers would let a stranger keep everybody out by opening connections
 * and saying nothing (denial of service). Closing the longest silent one instead lets every newcomer in, and costs a
 * client that speaks nothing. Connections of principals that have authenticated are never closed for a stranger's sake.
 *
 * Holds the connections that are open.
 */
export interface LimitedConnection {
  readonly once: (event: 'close', listener: () => void) => unknown
  readonly destroy: () => unknown
}

export interface ConnectionLimits {
  readonly maxUnauthenticated: number
  /** Of each principal; without it they have no limit of their own. */
  readonly maxPerPrincipal?: number
}

export class ConnectionLimiter<Connection extends LimitedConnection = LimitedConnection> {
  readonly #limits: ConnectionLimits
  /** Each with the question whether it is being answered; the longest silent first. */
  readonly #unauthenticated = new Map<Connection, (() => boolean) | undefined>()
  readonly #countByPrincipal = new Map<string, number>()

  constructor(limits: ConnectionLimits) {
    this.#limits = limits
  }

  get unauthenticated(): number {
    return this.#unauthenticated.size
  }

  /** Takes in a new connection, and closes the longest silent one when there are too many. */
  accept(connection: Connection): void {
    this.#unauthenticated.set(connection, undefined)
    connection.once('close', () => this.#unauthenticated.delete(connection))
    if (this.#unauthenticated.size <= this.#limits.maxUnauthenticated) return
    // Where all others are being answered, it is the newcomer itself.
    this.#close(this.#longestSilent() ?? connection)
  }

  /** A request has arrived on the connection; `isBusy` tells for how long it is being answered. */
  recordActivity(connection: Connection, isBusy?: () => boolean): void {
    // Deleted and set again, so that the order of the map is the order of the last activity.
    if (this.#unauthenticated.delete(connection)) this.#unauthenticated.set(connection, isBusy)
  }

  /** Moves a connection to the room of its principal; closes it if that room is full. */
  authenticate(connection: Connection, principal: string): void {
    this.#unauthenticated.delete(connection)
    const count = this.#countByPrincipal.get(principal) ?? 0
    if (count >= (this.#limits.maxPerPrincipal ?? Infinity)) {
      connection.destroy()
      return
    }
    this.#countByPrincipal.set(principal, count + 1)
    connection.once('close', () => this.#release(principal))
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

  #release(principal: string): void {
    const count = (this.#countByPrincipal.get(principal) ?? 1) - 1
    if (count === 0) this.#countByPrincipal.delete(principal)
    else this.#countByPrincipal.set(principal, count)
  }
}
