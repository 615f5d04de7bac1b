/**
 * Turns: what waits for one thing, such as a bus or a device. Callers take turns; each has its own
 * first-come-first-served line, and when there is no place left, who has most of them gives one up.
 *
 * Pure, but for the turns it is given.
 */
export interface Turns<Item> {
  readonly capacity: number
  /** By caller, whose turn it is next first. A caller without anything waiting is not in it. */
  readonly lines: Map<string, Item[]>
  size: number
}

export function newTurns<Item>(capacity: number): Turns<Item> {
  return { capacity, lines: new Map(), size: 0 }
}

/**
 * Who finds no place: nobody, the newest of whoever has most, or the item itself. By two at least, lest two callers
 * push each other out for ever.
 */
export function enqueue<Item>(turns: Turns<Item>, caller: string, item: Item): Item | undefined {
  const line = turns.lines.get(caller) ?? []
  let left: Item | undefined
  if (turns.size >= turns.capacity) {
    const [longest = line] = [...turns.lines.values()].toSorted((one, other) => other.length - one.length)
    if (longest.length <= line.length + 1) return item
    left = longest.pop()
    turns.size--
  }
  line.push(item)
  turns.lines.set(caller, line)
  turns.size++
  return left
}

export function dequeue<Item>(turns: Turns<Item>): Item | undefined {
  for (const [caller, line] of turns.lines) {
    const item = line.shift()
    turns.lines.delete(caller)
    if (line.length > 0) turns.lines.set(caller, line)
    if (item === undefined) continue
    turns.size--
    return item
  }
  return undefined
}

/** `false` when it was no longer waiting. */
export function withdraw<Item>(turns: Turns<Item>, item: Item): boolean {
  for (const [caller, line] of turns.lines) {
    const index = line.indexOf(item)
    if (index < 0) continue
    line.splice(index, 1)
    if (line.length === 0) turns.lines.delete(caller)
    turns.size--
    return true
  }
  return false
}

/** Everything that waits, and an empty turns. */
export function drain<Item>(turns: Turns<Item>): Item[] {
  const items = [...turns.lines.values()].flat()
  turns.lines.clear()
  turns.size = 0
  return items
}
