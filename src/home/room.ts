/**
 * Room: the rooms of the home, joined across families and languages: `Living` of the heating, `Living Room` of HomeSeer
 * and `Wohnzimmer` of a person are one.
 *
 * Rooms are one where the owner says so, or where both names are words for the same room in the tables. Nothing else is
 * joined: `Bedroom 2` is not the bedroom. Of two names that one family has, only translations of each other are one room:
 * who has a `Lounge` and a `Living Room` has two.
 */
import { normaliseText } from './normalised-text.ts'
import { findCanonicalRoomName, isCanonicalRoomName } from './room-words.ts'

/** From the owner's configuration: the name of a room, and its other names. */
export type RoomAliasesByName = Readonly<Record<string, readonly string[]>>

export interface Room {
  readonly key: string
  /** As the owner, or the first family that names it, spells it. */
  readonly name: string
  readonly aliases: readonly string[]
}

export class Rooms {
  readonly #byName = new Map<string, string>()
  readonly #rooms = new Map<string, { name: string; aliases: Set<string> }>()
  readonly #ownersNames = new Map<string, string>()
  /** By room and family: what the family calls it, folded. */
  readonly #familyNames = new Map<string, string[]>()

  constructor(table: RoomAliasesByName = {}) {
    for (const [name, aliases] of Object.entries(table)) {
      const key = normaliseText(name)
      this.#rooms.set(key, { name, aliases: new Set([name, ...aliases]) })
      for (const each of [name, ...aliases]) this.#ownersNames.set(normaliseText(each), key)
    }
  }

  /** The key of the room that a family calls by this name; `undefined` without a name. */
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

  /** The room of the tables that this is a word for, unless the family has another word for it. */
  #joined(folded: string, family: string): string {
    const known = findCanonicalRoomName(folded)
    if (known === undefined) return folded
    const others = this.#familyNames.get(`${family} ${known}`) ?? []
    const isOther = others.some(
      (other) => other !== folded && !(isCanonicalRoomName(other) && isCanonicalRoomName(folded)),
    )
    // Not a key that the tables have: that is the other room's.
    return isOther ? `${folded} itself` : known
  }

  /** The owner's room that has a name with the same meaning. */
  #ownersRoom(folded: string): string | undefined {
    const known = findCanonicalRoomName(folded)
    if (known === undefined) return undefined
    return [...this.#ownersNames].find(([name]) => findCanonicalRoomName(name) === known)?.[1]
  }
}
