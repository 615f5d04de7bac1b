/**
 * Send queue: what waits to be said on one bus. Callers take turns; each has its own first-come-first-served line.
 *
 * Pure, but for the queue it is given.
 */
export interface SendQueue<Item> {
  readonly capacity: number
  /** By caller, whose turn it is next first. A caller without anything waiting is not in it. */
  readonly lines: Map<string, Item[]>
  size: number
}

export function newSendQueue<Item>(capacity: number): SendQueue<Item> {
  return { capacity, lines: new Map(), size: 0 }
}

/** `false` when the queue is full. */
export function enqueue<Item>(queue: SendQueue<Item>, caller: string, item: Item): boolean {
  if (queue.size >= queue.capacity) return false
  const line = queue.lines.get(caller)
  if (line === undefined) queue.lines.set(caller, [item])
  else line.push(item)
  queue.size++
  return true
}

export function dequeue<Item>(queue: SendQueue<Item>): Item | undefined {
  for (const [caller, line] of queue.lines) {
    const item = line.shift()
    queue.lines.delete(caller)
    if (line.length > 0) queue.lines.set(caller, line)
    if (item === undefined) continue
    queue.size--
    return item
  }
  return undefined
}

/** `false` when it was no longer waiting. */
export function withdraw<Item>(queue: SendQueue<Item>, item: Item): boolean {
  for (const [caller, line] of queue.lines) {
    const index = line.indexOf(item)
    if (index < 0) continue
    line.splice(index, 1)
    if (line.length === 0) queue.lines.delete(caller)
    queue.size--
    return true
  }
  return false
}

/** Everything that waits, and an empty queue. */
export function drain<Item>(queue: SendQueue<Item>): Item[] {
  const items = [...queue.lines.values()].flat()
  queue.lines.clear()
  queue.size = 0
  return items
}
