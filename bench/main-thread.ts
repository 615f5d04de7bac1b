/**
 * Main thread: what a page's own thread does for a while, by Chromium's trace.
 *
 * Tasks are measured in the processor's time, not in the clock's: machines are shared, and what a neighbour takes is no
 * fault of the page. A task of more than 50 ms is what people notice.
 */
import type { Page } from 'playwright-core'

export interface MainThread {
  /** Of one processor. */
  readonly busyShare: number
  readonly longestMs: number
  readonly longTasks: number
  /** The longest by the clock, whoever had the processor. */
  readonly longestWallMs: number
}

const NOTICED_MS = 50

interface TraceEvent {
  readonly name: string
  readonly pid: number
  readonly tid: number
  readonly dur?: number
  readonly tdur?: number
  readonly args?: { readonly name?: string }
}

export async function watchMainThread(page: Page, forMs: number, work: () => Promise<void>): Promise<MainThread> {
  const browser = page.context().browser()
  if (browser === null) throw new Error('the page belongs to no browser')
  await browser.startTracing(page, { categories: ['toplevel', 'disabled-by-default-devtools.timeline'] })
  const began = performance.now()
  await work()
  await page.waitForTimeout(Math.max(0, forMs - (performance.now() - began)))
  const lastedMs = performance.now() - began
  const text = (await browser.stopTracing()).toString()
  const { traceEvents } = JSON.parse(text) as { readonly traceEvents: readonly TraceEvent[] }
  const mains = new Set(
    traceEvents.flatMap(({ name, args, pid, tid }) =>
      name === 'thread_name' && args?.name === 'CrRendererMain' ? [`${pid} ${tid}`] : [],
    ),
  )
  const tasks = traceEvents.filter(({ name, pid, tid }) => name === 'RunTask' && mains.has(`${pid} ${tid}`))
  if (tasks.length === 0) throw new Error('the trace holds no tasks')
  const cpuMs = tasks.map(({ tdur = 0 }) => tdur / 1_000)
  return {
    busyShare: cpuMs.reduce((sum, ms) => sum + ms, 0) / lastedMs,
    longestMs: Math.max(...cpuMs),
    longTasks: cpuMs.filter((ms) => ms > NOTICED_MS).length,
    longestWallMs: Math.max(...tasks.map(({ dur = 0 }) => dur / 1_000)),
  }
}
