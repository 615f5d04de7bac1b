/**
 * Hang watch: a thread beside the tests of one worker process. While a test or a hook runs, it says when nothing has
 * happened for as long as the limit, in the worker and in every process that the worker started.
 *
 *   begin, progress, end ──▶ watch ──"idle for 30 s"──▶ worker, which fails the step
 *                                  ──no sign of life──▶ SIGKILL for what the worker waits for in spawnSync
 */
import { readlinkSync, writeSync } from 'node:fs'
import { basename } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { addIdleTime, readCommandLine, readProcessActivity } from './process-activity.ts'

export interface WatchSettings {
  readonly idleLimitMs: number
  readonly lookEveryMs: number
}

export type WatchInput =
  | { readonly kind: 'begin'; readonly id: number; readonly name: string }
  | { readonly kind: 'end'; readonly id: number }
  | { readonly kind: 'progress' }

export interface IdleNotice {
  readonly idleMs: number
  readonly descendants: readonly number[]
}

if (parentPort !== null) watch(parentPort, workerData as WatchSettings)

function watch(worker: NonNullable<typeof parentPort>, { idleLimitMs, lookEveryMs }: WatchSettings): void {
  const thisThread = Number(basename(readlinkSync('/proc/thread-self')))
  const steps = new Map<number, string>()
  let before = readProcessActivity(process.pid, thisThread)
  let idleMs = 0
  let unheardSinceMs: number | undefined

  worker.on('message', (input: WatchInput) => {
    if (input.kind === 'begin') steps.set(input.id, input.name)
    if (input.kind === 'end') steps.delete(input.id)
    idleMs = 0
    unheardSinceMs = undefined
  })

  setInterval(() => {
    const now = readProcessActivity(process.pid, thisThread)
    if (now === undefined) return
    if (steps.size > 0 && before !== undefined) idleMs = addIdleTime(idleMs, before, now, lookEveryMs)
    before = now
    if (idleMs < idleLimitMs) return
    if (unheardSinceMs === undefined) {
      unheardSinceMs = now.atMs
      worker.postMessage({ idleMs, descendants: now.descendants } satisfies IdleNotice)
    } else if (now.atMs - unheardSinceMs > 2 * lookEveryMs) {
      // The worker is blocked in spawnSync, which ends with its process; only then can the worker fail the step.
      for (const pid of now.descendants) kill(pid, `${[...steps.values()].join(', ')} waited for it in vain`)
      idleMs = 0
    }
  }, lookEveryMs)
}

function kill(pid: number, reason: string): void {
  // Not console: its lines go through the worker, which is blocked.
  writeSync(2, `*** killed ${pid}, because ${reason}: ${readCommandLine(pid)}\n`)
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended meanwhile.
  }
}
