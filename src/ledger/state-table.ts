/**
 * State table: values by id, as entries made them. Every change is in a journal until its group is durable, so that a
 * transaction that is undone on the disk is undone here.
 *
 *   work begins ─▶ set · set · delete ─▶ work undone: back to where it began
 *                                    └─▶ group ends: kept, or all of it undone
 *
 * Holds memory; otherwise pure.
 */
import type { Follower } from '../core/database-store.ts'

/** What readers get of a table: whoever only decides cannot change it. */
export interface StateReader<Value> {
  readonly size: number
  /** Another number after every change, for whoever keeps something that was made from all of it. */
  readonly version: number
  readonly get: (id: string) => Value | undefined
  readonly has: (id: string) => boolean
  /** In the order in which the ids came. */
  readonly values: () => IterableIterator<Value>
  readonly entries: () => IterableIterator<[string, Value]>
}

export class StateTable<Value> implements StateReader<Value> {
  readonly #values = new Map<string, Value>()
  readonly #journal: StateJournal
  version = 0

  constructor(journal: StateJournal) {
    this.#journal = journal
  }

  get size(): number {
    return this.#values.size
  }

  get(id: string): Value | undefined {
    return this.#values.get(id)
  }

  has(id: string): boolean {
    return this.#values.has(id)
  }

  values(): IterableIterator<Value> {
    return this.#values.values()
  }

  entries(): IterableIterator<[string, Value]> {
    return this.#values.entries()
  }

  set(id: string, value: Value): void {
    this.#note(id)
    this.#values.set(id, value)
  }

  delete(id: string): void {
    if (!this.#values.has(id)) return
    this.#note(id)
    this.#values.delete(id)
  }

  /**
   * Makes room by dropping the oldest values that may go, until at most `limit` are left. Of a table that is only a
   * little too long it looks at the first few.
   */
  dropOldest(limit: number, mayGo: (value: Value) => boolean): void {
    if (this.#values.size <= limit) return
    for (const [id, value] of this.#values) {
      if (mayGo(value)) this.delete(id)
      if (this.#values.size <= limit) return
    }
  }

  /** Drops values from the old end for as long as they may go: what lapses does so roughly in the order it came. */
  dropLapsed(mayGo: (value: Value) => boolean): void {
    let kept = 0
    for (const [id, value] of this.#values) {
      if (mayGo(value)) this.delete(id)
      else if (++kept >= LOOKED_AT) return
    }
  }

  #note(id: string): void {
    this.version += 1
    const before = this.#values.get(id)
    const had = this.#values.has(id)
    this.#journal.note(() => {
      this.version += 1
      if (had) this.#values.set(id, before as Value)
      else this.#values.delete(id)
    })
  }
}

/** Values at the old end of a table that may not go yet and are passed over. */
const LOOKED_AT = 16

/** How to take back what was done since the last group became durable. */
export class StateJournal {
  #undo: (() => void)[] = []
  #workBegan = 0
  #isOn: boolean

  /** One that is off is for whoever reads a log and takes nothing back. */
  constructor(isOn = true) {
    this.#isOn = isOn
  }

  note(undo: () => void): void {
    if (this.#isOn) this.#undo.push(undo)
  }

  /** Without keeping how to take it back: for entries that are durable already. */
  withoutUndo(work: () => void): void {
    const wasOn = this.#isOn
    this.#isOn = false
    try {
      work()
    } finally {
      this.#isOn = wasOn
    }
  }

  readonly follower: Follower = {
    workBegins: () => {
      this.#workBegan = this.#undo.length
    },
    workUndone: () => this.#takeBackTo(this.#workBegan),
    groupEnds: (committed) => {
      if (!committed) this.#takeBackTo(0)
      this.#undo = []
      this.#workBegan = 0
    },
  }

  #takeBackTo(length: number): void {
    while (this.#undo.length > length) this.#undo.pop()?.()
  }
}
