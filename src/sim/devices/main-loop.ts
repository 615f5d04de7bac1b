/**
 * Main loop: the one task on which a device does everything, in the order it was asked to.
 *
 * A tool's answer is scheduled when the tool has run, behind whatever was scheduled meanwhile: one slow call holds back
 * the answers of calls that were finished before it.
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

  /** Forgets what is left to do, as a restart does. */
  clear(): void {
    this.#tasks.length = 0
  }

  /** A restart has begun: what would be done after it is never done. */
  halt(): void {
    this.#halted = true
    this.clear()
  }

  /** Booted again. */
  resume(): void {
    this.#halted = false
  }

  async #run(): Promise<void> {
    for (let task = this.#tasks.shift(); task !== undefined; task = this.#tasks.shift()) {
      try {
        await task()
      } catch {
        // A task that fails is logged on a device, and the loop goes on.
      }
    }
    this.#running = false
  }
}
