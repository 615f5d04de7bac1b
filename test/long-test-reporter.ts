/**
 * Long test reporter: names every test that has run for half a minute, while it runs. One in which nothing happens ends
 * by then (hang-runner.ts); this names also one that goes round in circles, and ends only with its own time-out.
 */
import type { Reporter, TestCase } from 'vitest/node'

const NOTICE_AFTER_MS = 30_000
const LOOK_EVERY_MS = 5_000

export default class LongTestReporter implements Reporter {
  readonly #running = new Map<string, { readonly name: string; readonly sinceMs: number }>()
  #watch: NodeJS.Timeout | undefined

  onTestRunStart(): void {
    this.#watch = setInterval(() => this.#look(), LOOK_EVERY_MS)
    this.#watch.unref()
  }

  onTestCaseReady({ id, module, fullName }: TestCase): void {
    this.#running.set(id, { name: `${module.relativeModuleId} > ${fullName}`, sinceMs: performance.now() })
  }

  onTestCaseResult({ id }: TestCase): void {
    this.#running.delete(id)
  }

  onTestRunEnd(): void {
    clearInterval(this.#watch)
  }

  #look(): void {
    for (const [id, { name, sinceMs }] of this.#running) {
      if (performance.now() - sinceMs < NOTICE_AFTER_MS) continue
      // Once: the end of the test says the rest.
      this.#running.delete(id)
      process.stderr.write(`*** still running after ${NOTICE_AFTER_MS / 1_000} s, and may hang: ${name}\n`)
    }
  }
}
