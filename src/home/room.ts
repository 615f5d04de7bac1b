/**
 * Room: the rooms of the home, joined across families and languages: `Living` of the heating, `Living Room` of HomeSeer
 * and `Wohnzimmer` of a person are one.
 *
 * Rooms are one where the owner says so, or where both names are words for the same room in the tables. Nothing else is
 * joined: `Bedroom 2` is not the bedroom.
 */
import { foldText, findRoomName } from './home-words.ts'

/** By the owner: the name of a room, and what else it is called. */
export type RoomTable = Readonly<Record<string, readonly string[]>>

export interface Room {
  readonly key: string
  /** As the owner, or the first family that names it, writes it. */
  readonly name: string
  readonly aliases: readonly string[]
}

export class Rooms {
  readonly #byName = new Map<string, string>()
  readonly #rooms = new Map<string, { name: string; aliases: Set<string> }>()

  constructor(table: RoomTable = {}) {
    for (const [name, aliases] of Object.entries(table)) {
      const key = foldText(name)
      this.#rooms.set(key, { name, aliases: new Set([name, ...aliases]) })
      for (const each of [name, ...aliases]) this.#byName.set(foldText(each), key)
    }
  }

  /** The key of the room that a family calls so; `undefined` for no name at all. */
  join(name: string): string | undefined {
    const folded = foldText(name)
    if (folded === '') return undefined
    const key = this.#byName.get(folded) ?? this.#ownersRoom(folded) ?? findRoomName(folded) ?? folded
    this.#byName.set(folded, key)
    const room = this.#rooms.get(key) ?? { name: name.trim(), aliases: new Set<string>() }
    room.aliases.add(name.trim())
    this.#rooms.set(key, room)
    return key
  }

  /** A room that somebody means, without making one. */
  find(name: string): Room | undefined {
    const folded = foldText(name)
    const key = this.#byName.get(folded) ?? findRoomName(folded)
    return key === undefined ? undefined : this.get(key)
  }

  get(key: string): Room | undefined {
    const room = this.#rooms.get(key)
    return room && { key, name: room.name, aliases: [...room.aliases] }
  }

  all(): readonly Room[] {
    return [...this.#rooms.keys()].flatMap((key) => this.get(key) ?? [])
  }

  /** The owner's room one of whose names is a word for the same room. */
  #ownersRoom(folded: string): string | undefined {
    const known = findRoomName(folded)
    if (known === undefined) return undefined
    return [...this.#byName].find(([name]) => findRoomName(name) === known)?.[1]
  }
}
