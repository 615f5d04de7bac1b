/**
 * Virtual task queue: what is to happen at which moment of the virtual time, in order.
 *
 * Pure, but for the timeline it is given.
 */
interface Task {
  readonly atMs: number
  readonly run: (nowMs: number) => void
}

export class VirtualTaskQueue {
  /** Sorted, the next one last. There are two dozen tasks at most, so a plain array is faster than a heap. */
  readonly #tasks: Task[] = []

  at(atMs: number, run: (nowMs: number) => void): void {
    let index = this.#tasks.length
    while (index > 0 && (this.#tasks[index - 1]?.atMs ?? 0) <= atMs) index--
    this.#tasks.splice(index, 0, { atMs, run })
  }

  /** Counted from the planned moment, not from when it ran, so a late run shifts nothing. */
  every(everyMs: number, firstMs: number, run: (nowMs: number) => void): void {
    this.at(firstMs, (nowMs) => {
      this.every(everyMs, firstMs + everyMs, run)
      run(nowMs)
    })
  }

  nextMs(): number {
    return this.#tasks.at(-1)?.atMs ?? Number.POSITIVE_INFINITY
  }

  /** Runs the next task. */
  runNext(): void {
    const task = this.#tasks.pop()
    task?.run(task.atMs)
  }
}
