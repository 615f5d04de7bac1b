/**
 * Foyer: connections of whom nobody knows yet who they are. There is room for so many, and when it is full the one that
 * waited longest gives way: whoever is a device has shown it within moments, and whoever opens connections to hold them
 * holds none that a device needs.
 *
 *   enter ▸ shows who it is: leave ▸ counts as a device          too many ▸ the oldest is cut
 *
 * Holds the connections, and otherwise nothing.
 */
import type { Socket } from 'node:net'

/** A house full of devices that all come back after the power was out. */
export const FOYER_PLACES = 1_024

export class Foyer {
  readonly #places: number
  /** Oldest first, as a Set keeps them. */
  readonly #waiting = new Set<Socket>()

  constructor(places = FOYER_PLACES) {
    this.#places = places
  }

  enter(socket: Socket): void {
    const [oldest] = this.#waiting
    if (oldest !== undefined && this.#waiting.size >= this.#places) {
      this.#waiting.delete(oldest)
      oldest.destroy()
    }
    this.#waiting.add(socket)
    socket.once('close', () => this.#waiting.delete(socket))
  }

  /** It has shown who it is. */
  leave(socket: Socket): void {
    this.#waiting.delete(socket)
  }
}
