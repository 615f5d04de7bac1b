/**
 * Hang runner: fails a test or a hook at once when nothing has happened for half a minute, and says what it waited for.
 * A hang is the absence of progress, not slowness: time-outs stay generous, because these machines are shared, and what is
 * busy or would be, had its neighbours left it a processor, goes on (process-activity.ts).
 */
import { Worker } from 'node:worker_threads'
import { TestRunner, expect, vi } from 'vitest'
import type { ProvidedContext, RunnerTestCase, RunnerTestFile, RunnerTestSuite } from 'vitest'
import { countRequestEvents, describePendingWaits, isPolling, notePoll, watchRequests } from './pending-waits.ts'
import type { IdleNotice, WatchInput, WatchSettings } from './hang-watch.ts'
import { readCommandLine } from './process-activity.ts'

declare module 'vitest' {
  interface ProvidedContext {
    readonly hangWatch: {
      /** For how long nothing may happen while a test or a hook runs. */
      readonly idleLimitMs: number
      /** The watch costs a thread, which tests that end earlier need not have. At once where tests use spawnSync. */
      readonly startAfterMs: number
    }
  }
}

/** So many looks before the limit. */
const LOOKS = 15

const HOOKS = ['beforeAll', 'beforeEach', 'afterEach', 'afterAll'] as const

type Step = (...args: never[]) => unknown

interface PendingStep {
  readonly name: string
  readonly reject: (reason: Error) => void
}

// Before a test replaces them by virtual ones.
const { setTimeout, clearTimeout, setInterval, clearInterval } = globalThis

export default class HangRunner extends TestRunner {
  readonly #pending = new Map<number, PendingStep>()
  #steps = 0
  #watch: Worker | undefined
  readonly #undo = [watchRequests(), notePolls()]

  /** The process may run other files next. */
  override onAfterRunFiles(files: RunnerTestFile[]): void {
    super.onAfterRunFiles(files)
    for (const undo of this.#undo) undo()
    void this.#watch?.terminate()
    this.#watch = undefined
  }

  override async onBeforeRunSuite(suite: RunnerTestSuite): Promise<void> {
    await super.onBeforeRunSuite(suite)
    const hooks = TestRunner.getSuiteHooks(suite) as Record<(typeof HOOKS)[number], Step[]>
    for (const name of HOOKS) {
      // With the properties by which Vitest knows the time-out of what the hook returns.
      hooks[name] = hooks[name].map((hook) => Object.assign(this.#watched(`${name} of ${suite.fullName}`, hook), hook))
    }
  }

  async runTask(test: RunnerTestCase): Promise<void> {
    await this.#watched(test.fullName, TestRunner.getTestFn(test))()
  }

  #watched(name: string, run: Step): Step {
    return async (...args) => {
      const id = this.#steps++
      const { promise, reject } = Promise.withResolvers<never>()
      const { startAfterMs, idleLimitMs } = this.#settings()
      const startedMs = performance.now()
      this.#pending.set(id, { name, reject })
      if (startAfterMs === 0) this.#watch ??= this.#startWatch()
      const timer = setTimeout(() => (this.#watch ??= this.#startWatch()), startAfterMs)
      this.#tell({ kind: 'begin', id, name })
      const runToItsEnd = async (): Promise<unknown> => {
        const value = await run(...args)
        // It may have been blocked, and could not hear yet that it hung until its command was killed.
        if (performance.now() - startedMs > idleLimitMs) await new Promise((resolve) => setTimeout(resolve, 100))
        return value
      }
      try {
        return await Promise.race([runToItsEnd(), promise])
      } finally {
        clearTimeout(timer)
        this.#pending.delete(id)
        this.#tell({ kind: 'end', id })
      }
    }
  }

  #tell(input: WatchInput): void {
    this.#watch?.postMessage(input)
  }

  #settings(): ProvidedContext['hangWatch'] {
    return this.injectValue('hangWatch') as ProvidedContext['hangWatch']
  }

  #startWatch(): Worker | undefined {
    if (process.platform !== 'linux') return undefined
    const { idleLimitMs } = this.#settings()
    const lookEveryMs = idleLimitMs / LOOKS
    const workerData: WatchSettings = { idleLimitMs, lookEveryMs }
    const watch = new Worker(new URL('./hang-watch.ts', import.meta.url), { workerData, execArgv: [] })
    watch.unref()
    for (const [id, { name }] of this.#pending) watch.postMessage({ kind: 'begin', id, name } satisfies WatchInput)
    let seen = 0
    const progress = setInterval(() => {
      // Small steps with waits between them cost hardly any processor time.
      const done = (expect.getState().assertionCalls ?? 0) + countRequestEvents()
      if (done !== seen) this.#tell({ kind: 'progress' })
      seen = done
    }, lookEveryMs).unref()
    this.#undo.push(() => clearInterval(progress))
    watch.on('message', (notice: IdleNotice) => {
      this.#tell({ kind: 'progress' })
      // A loop that polls has a time-out of its own, and says better what it waited for.
      if (!isPolling(idleLimitMs / 5)) this.#failPending(notice)
    })
    return watch
  }

  #failPending({ idleMs, descendants }: IdleNotice): void {
    const sentence = `hangs: for ${Math.round(idleMs / 1_000)} s neither it nor a process that it started did anything`
    const processes = descendants.map((pid) => `process ${pid}: ${readCommandLine(pid)}`)
    for (const { name, reject } of this.#pending.values()) {
      process.stderr.write(`*** ${name} ${sentence}\n`)
      const error = new Error([sentence, ...processes, describePendingWaits()].join('\n'))
      // No line of this file is to blame.
      error.stack = `${error.name}: ${error.message}`
      reject(error)
    }
  }
}

function notePolls(): () => void {
  const { poll } = expect
  const { waitFor, waitUntil } = vi
  expect.poll = (condition, options) => poll(noted(condition), options)
  vi.waitFor = (condition, options) => waitFor(noted(condition), options)
  vi.waitUntil = (condition, options) => waitUntil(noted(condition), options)
  return () => {
    expect.poll = poll
    Object.assign(vi, { waitFor, waitUntil })
  }
}

function noted<Args extends unknown[], Value>(condition: (...args: Args) => Value): (...args: Args) => Value {
  return (...args) => {
    notePoll()
    return condition(...args)
  }
}
