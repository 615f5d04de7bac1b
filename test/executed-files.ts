/**
 * Executed files: which files of ours a gateway process executes for one call, as V8 counts function calls.
 *
 *   gateway started with --inspect ─▶ counters to zero ▸ the call ▸ counters read      × several
 *
 * A file counts when one of its functions ran in every one of the calls: what timers do beside one of them is left out.
 * The simulated house is in another process.
 */
import { setTimeout } from 'node:timers/promises'

interface FunctionCount {
  readonly functionName: string
  readonly ranges: readonly { readonly startOffset: number; readonly count: number }[]
}

interface ScriptCount {
  readonly url: string
  readonly functions: readonly FunctionCount[]
}

const JOB_POLL_MS = 100

/** `file function`, for every function that ran. */
type Executed = ReadonlySet<string>

/** The process's own debugger, which it names on stderr. */
export class Inspector {
  readonly #socket: WebSocket
  readonly #waiting = new Map<number, (result: unknown) => void>()
  #asked = 0

  private constructor(socket: WebSocket) {
    this.#socket = socket
    socket.addEventListener('message', ({ data }) => {
      const { id, result } = JSON.parse(String(data)) as { readonly id: number; readonly result: unknown }
      this.#waiting.get(id)?.(result)
    })
  }

  static async attach(log: string): Promise<Inspector> {
    const url = /ws:\/\/\S+/.exec(log)?.[0]
    if (url === undefined) throw new Error(`no debugger is named in:\n${log}`)
    const socket = new WebSocket(url)
    await new Promise((resolve) => {
      socket.addEventListener('open', resolve, { once: true })
    })
    const inspector = new Inspector(socket)
    await inspector.#ask('Profiler.enable')
    await inspector.#ask('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
    return inspector
  }

  async executedBy(work: () => Promise<unknown>): Promise<Executed> {
    await this.#ask('Profiler.takePreciseCoverage')
    await work()
    const { result } = (await this.#ask('Profiler.takePreciseCoverage')) as { readonly result: readonly ScriptCount[] }
    return new Set(result.flatMap(({ url, functions }) => functionsOf(url, functions)))
  }

  /** What runs without any call, until a periodic job of this file has run twice: what its first run began has ended. */
  async executedByJobs(file: string): Promise<Executed> {
    const jobs = new Set<string>()
    for (let runs = 0; runs < 2;) {
      const ran = await this.executedBy(() => setTimeout(JOB_POLL_MS))
      for (const one of ran) jobs.add(one)
      if ([...ran].some((one) => one.startsWith(`${file} `))) runs++
    }
    return jobs
  }

  close(): void {
    this.#socket.close()
  }

  #ask(method: string, params: object = {}): Promise<unknown> {
    return new Promise((resolve) => {
      const id = ++this.#asked
      this.#waiting.set(id, resolve)
      this.#socket.send(JSON.stringify({ id, method, params }))
    })
  }
}

/** Of the product itself. Loading a module runs the function of the whole file, which begins at 0. */
function functionsOf(url: string, functions: readonly FunctionCount[]): readonly string[] {
  const [, file] = /^file:\/\/(?!.*\/node_modules\/).*\/src\/(.+)$/.exec(url) ?? []
  if (file === undefined || file.startsWith('sim/')) return []
  return functions
    .filter(({ ranges: [whole] }) => (whole?.count ?? 0) > 0 && (whole?.startOffset ?? 0) > 0)
    .map(({ functionName, ranges: [whole] }) => `${file} ${functionName || whole?.startOffset}`)
}

/** The files with a function that ran in each of the calls, without the functions of `jobs`. */
export function filesInAll(calls: readonly Executed[], jobs: Executed = new Set()): readonly string[] {
  const [first = new Set<string>(), ...others] = calls
  const always = [...first].filter((ran) => !jobs.has(ran) && others.every((other) => other.has(ran)))
  return [...new Set(always.map((ran) => ran.slice(0, ran.indexOf(' '))))].toSorted()
}
