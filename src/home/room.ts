/**
 * Room: the rooms of the home, joined across families and languages: `Living` of the heating, `Living Room` of HomeSeer
 * and `Wohnzimmer` of a person are one.
 *
 * Rooms are one where the owner says so, or where both names are words for the same room in the tables. Nothing else is
 * joined: `Bedroom 2` is not the bedroom. Of two names that one family has, only translations of each other are one
 * room: a home with a `Lounge` and a `Living Room` has two rooms.
 */
import { normaliseText } from './normalised-text.ts'
import { findCanonicalRoomName, isCanonicalRoomName } from './room-words.ts'

/** From the owner's configuration: the name of a room, and its other names. */
export type RoomAliasesByName = Readonly<Record<string, readonly string[]>>

export interface Room {
  readonly key: string
  /** The name as the owner spells it, or the first family that has it. */
  readonly name: string
  readonly aliases: readonly string[]
}

export class Rooms {
  readonly #byName = new Map<string, string>()
  readonly #rooms = new Map<string, { name: string; aliases: Set<string> }>()
  readonly #ownersNames = new Map<string, string>()
  /** The family's names for a room, folded, by room and family. */
  readonly #familyNames = new Map<string, string[]>()

  constructor(table: RoomAliasesByName = {}) {
    for (const [name, aliases] of Object.entries(table)) {
      const key = normaliseText(name)
      this.#rooms.set(key, { name, aliases: new Set([name, ...aliases]) })
      for (const each of [name, ...aliases]) this.#ownersNames.set(normaliseText(each), key)
    }
  }

  /** The key of the room that a family calls by this name, creating it if necessary; `undefined` without a name. */
  join(name: string, family: string): string | undefined {
    const folded = normaliseText(name)
    if (folded === '') return undefined
    const key =
      this.#ownersNames.get(folded) ??
      this.#byName.get(folded) ??
      this.#ownersRoom(folded) ??
      this.#joined(folded, family)
    this.#byName.set(folded, key)
    const names = this.#familyNames.get(`${family} ${key}`) ?? []
    this.#familyNames.set(`${family} ${key}`, [...names, folded])
    const room = this.#rooms.get(key) ?? { name: name.trim(), aliases: new Set<string>() }
    room.aliases.add(name.trim())
    this.#rooms.set(key, room)
    return key
  }

  /** Finds a room without creating one. */
  find(name: string): Room | undefined {
    const folded = normaliseText(name)
    const key = this.#ownersNames.get(folded) ?? this.#byName.get(folded) ?? findCanonicalRoomName(folded)
    return key === undefined ? undefined : this.get(key)
  }

  get(key: string): Room | undefined {
    const room = this.#rooms.get(key)
    return room && { key, name: room.name, aliases: [...room.aliases] }
  }

  all(): readonly Room[] {
    return [...this.#rooms.keys()].flatMap((key) => this.get(key) ?? [])
  }

  /** The key of the room in the tables that this is a word for, unless the family has another room for that key. */
  #joined(folded: string, family: string): string {
    const known = findCanonicalRoomName(folded)
    if (known === undefined) return folded
    const others = this.#familyNames.get(`${family} ${known}`) ?? []
    const isOther = others.some(
      (other) => other !== folded && !(isCanonicalRoomName(other) && isCanonicalRoomName(folded)),
    )
    // The key of the tables belongs to the other room, so a different one is made.
    return isOther ? `${folded} itself` : known
  }

  /** The owner's room that has a name with the same meaning. */
  #ownersRoom(folded: string): string | undefined {
    const known = findCanonicalRoomName(folded)
    if (known === undefined) return undefined
    return [...this.#ownersNames].find(([name]) => findCanonicalRoomName(name) === known)?.[1]
  }
}
