/**
 * Process activity: how much processor time a process and all that it started have used or waited for, as Linux counts
 * it. A thread in the queue for a processor is active: its neighbours are busy, and it does not hang.
 */
import { readFileSync, readdirSync } from 'node:fs'

export interface ProcessActivity {
  readonly atMs: number
  /** On a processor or in the queue for one, all threads together. */
  readonly busyMs: number
  /** A thread waits for a disk at this moment. */
  readonly isWaitingForDisk: boolean
  /** Ids of the processes that were started, and of those that these started. */
  readonly descendants: readonly number[]
}

/** `undefined` where the kernel does not count: not Linux, or without CONFIG_SCHED_INFO. */
export function readProcessActivity(pid: number, exceptThread = -1): ProcessActivity | undefined {
  let busyNs = 0
  let isWaitingForDisk = false
  const pids = [pid]
  // The list grows while it is read. Processes and threads end meanwhile, and are then left out.
  for (const id of pids) {
    for (const thread of orEmpty(() => readdirSync(`/proc/${id}/task`))) {
      const folder = `/proc/${id}/task/${thread}`
      pids.push(...readNumbers(`${folder}/children`))
      if (Number(thread) === exceptThread) continue
      // Kernel documentation, sched-stats: time on the processor, then time in the run queue, in nanoseconds.
      const [onProcessorNs = 0, queuedNs = 0] = readNumbers(`${folder}/schedstat`)
      busyNs += onProcessorNs + queuedNs
      // proc_pid_stat(5): the state follows the name, which is in parentheses and may hold any character.
      isWaitingForDisk ||= /\) D [^)]*$/.test(readText(`${folder}/stat`))
    }
  }
  if (busyNs === 0) return undefined
  return { atMs: performance.now(), busyMs: busyNs / 1e6, isWaitingForDisk, descendants: pids.slice(1) }
}

/**
 * Below this share of one processor, all processes together are idle. Measured: a gateway without a house uses 0.1 %, one
 * with the virtual house 14 %, a poll every 50 ms 6 %. Flows at a load of twenty on two cores were on a processor for 7 %
 * of the time, but on one or in the queue for one for more than a quarter in 443 of 451 seconds.
 */
const IDLE_BELOW = 0.25

/** For how long nothing has happened at `now`, when nothing had happened for `idleMs` at `before`. */
export function addIdleTime(idleMs: number, before: ProcessActivity, now: ProcessActivity, everyMs: number): number {
  if (now.isWaitingForDisk || String(now.descendants) !== String(before.descendants)) return 0
  const elapsedMs = now.atMs - before.atMs
  const busyMs = now.busyMs - before.busyMs
  // Less than before: a thread has ended.
  if (busyMs < 0 || busyMs > elapsedMs * IDLE_BELOW) return 0
  // A look that comes late does not count: the watch was itself stopped or starved, and so were the others.
  return elapsedMs > 2 * everyMs ? idleMs : idleMs + elapsedMs
}

/** A process as it was typed. */
export function readCommandLine(pid: number): string {
  return readText(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim()
}

function readNumbers(file: string): readonly number[] {
  return readText(file).split(/\s+/).filter(Boolean).map(Number)
}

function readText(file: string): string {
  return orEmpty(() => readFileSync(file, 'utf8'))
}

function orEmpty<Value extends string | string[]>(read: () => Value): Value | '' {
  try {
    return read()
  } catch {
    return ''
  }
}
