/**
 * LRU cache: values that are expensive to make, of which the most recently used are kept.
 *
 * Pure: it holds memory.
 */
export class LruCache<Key, Value> {
  readonly #limit: number
  /** The values, least recently used first. */
  readonly #values = new Map<Key, Value>()

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Returns the cached value, or makes it. `undefined` is not cached. */
  get(key: Key, make: () => Value | undefined): Value | undefined {
    const known = this.#values.get(key)
    const value = known ?? make()
    if (value === undefined) return undefined
    if (known !== undefined) this.#values.delete(key)
    this.#values.set(key, value)
    if (this.#values.size > this.#limit) for (const oldest of this.#values.keys()) return this.#drop(oldest, value)
    return value
  }

  delete(key: Key): void {
    this.#values.delete(key)
  }

  clear(): void {
    this.#values.clear()
  }

  #drop(oldest: Key, value: Value): Value {
    this.#values.delete(oldest)
    return value
  }
}
