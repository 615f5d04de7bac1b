/**
 * Main loop: the one task on which a device does everything, in the order of the requests.
 *
 * A tool's answer is scheduled when the tool has run, behind whatever was scheduled meanwhile: one slow call delays the
 * answers of calls that have finished already.
 *
 * Pure, apart from waiting.
 */
export type MainLoopTask = () => void | Promise<void>

export class MainLoop {
  readonly #tasks: MainLoopTask[] = []
  #running = false
  #halted = false

  schedule(task: MainLoopTask): void {
    if (this.#halted) return
    this.#tasks.push(task)
    if (this.#running) return
    this.#running = true
    void this.#run()
  }

  /** Drops the remaining tasks, as a restart does. */
  clear(): void {
    this.#tasks.length = 0
  }

  /** A restart has begun, so later tasks never run. */
  halt(): void {
    this.#halted = true
    this.clear()
  }

  /** The device has booted again. */
  resume(): void {
    this.#halted = false
  }

  async #run(): Promise<void> {
    for (let task = this.#tasks.shift(); task !== undefined; task = this.#tasks.shift()) {
      try {
        await task()
      } catch {
        // A device logs a failed task, and its loop continues.
      }
    }
    this.#running = false
  }
}
