/**
 * Guests: who is connected to the mesh listener, so that nobody takes all the room there is.
 *
 * A member has room of its own. Whoever is no member shares room with all others who are none, since anybody can be any
 * number of them; they come to ask whether this node lives, or with an invitation, and need little.
 *
 * Pure, given its own memory of who is there.
 */
export interface Connection {
  readonly once: (event: 'close', listener: () => void) => unknown
  readonly destroy: () => unknown
}

/** A node makes 64 for messages and one for packets at most. */
export const MAX_CONNECTIONS_EACH = 256
/** No member's name. */
const STRANGERS = ''

export class Guests {
  readonly #counts = new Map<string, number>()
  readonly #strangers = new WeakSet<object>()

  /** `member` is whose certificate was shown; `undefined` when it was no member's. */
  enter(connection: Connection, member: string | undefined): void {
    const who = member ?? STRANGERS
    const count = this.#counts.get(who) ?? 0
    if (count >= MAX_CONNECTIONS_EACH) {
      connection.destroy()
      return
    }
    this.#counts.set(who, count + 1)
    if (member === undefined) this.#strangers.add(connection)
    connection.once('close', () => this.#left(who))
  }

  isStranger(connection: object): boolean {
    return this.#strangers.has(connection)
  }

  #left(who: string): void {
    const count = (this.#counts.get(who) ?? 1) - 1
    if (count === 0) this.#counts.delete(who)
    else this.#counts.set(who, count)
  }
}
