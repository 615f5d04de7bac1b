import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { describe, expect, it } from 'vitest'
import { addIdleTime, readProcessActivity } from './process-activity.ts'
import type { ProcessActivity } from './process-activity.ts'

const EVERY_MS = 2_000
const BEFORE: ProcessActivity = { atMs: 10_000, busyMs: 500, isWaitingForDisk: false, descendants: [7, 8] }

function idleAfter(change: Partial<ProcessActivity>): number {
  return addIdleTime(20_000, BEFORE, { ...BEFORE, atMs: 12_000, ...change }, EVERY_MS)
}

describe('idle time of a test', () => {
  it('grows while a gateway with the virtual house uses 14 % of a processor', () => {
    expect(idleAfter({ busyMs: 500 + 280 })).toBe(22_000)
  })

  it('is reset when processes ran or waited for a processor for more than a quarter of the time', () => {
    expect(idleAfter({ busyMs: 500 + 501 })).toBe(0)
  })

  it('is reset when a process or thread has started or ended', () => {
    expect(idleAfter({ descendants: [7, 8, 9] })).toBe(0)
    expect(idleAfter({ descendants: [7] })).toBe(0)
    expect(idleAfter({ busyMs: 499 })).toBe(0)
  })

  it('is reset while a thread waits for a disk', () => {
    expect(idleAfter({ isWaitingForDisk: true })).toBe(0)
  })

  it('does not grow while the watch itself was stopped', () => {
    expect(idleAfter({ atMs: 26_000 })).toBe(20_000)
  })
})

describe.runIf(process.platform === 'linux')('activity of processes', () => {
  it('counts waiting for a processor as activity', async () => {
    const spinners = availableParallelism() + 1
    const spin = 'console.log(); for (;;);'
    const children = Array.from({ length: spinners }, () => spawn(process.execPath, ['-e', spin]))
    try {
      await Promise.all(children.map((child) => once(child.stdout, 'data')))
      const before = readProcessActivity(process.pid)
      await new Promise((resolve) => setTimeout(resolve, 400))
      const after = readProcessActivity(process.pid)
      if (before === undefined || after === undefined) throw new Error('Linux counts no activity')
      expect(after.descendants).toEqual(expect.arrayContaining(children.map(({ pid }) => pid)))
      expect((after.busyMs - before.busyMs) / (after.atMs - before.atMs)).toBeGreaterThan(spinners - 0.8)
    } finally {
      for (const child of children) child.kill('SIGKILL')
    }
  })
})
