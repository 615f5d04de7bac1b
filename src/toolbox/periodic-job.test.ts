import { describe, expect, it, vi } from 'vitest'
import { silentLogger } from '../core/logger.ts'
import { startPeriodicJob } from './periodic-job.ts'

describe('a periodic job', () => {
  it('logs a repeated failure once, and once when it works again', async () => {
    const lines: string[] = []
    const failures = ['full', 'full', 'full', 'gone', 'gone', undefined, undefined, 'full']
    let turns = 0
    const job = async (): Promise<void> => {
      const failure = failures[turns++]
      if (failure !== undefined) throw new Error(failure)
    }
    const stop = startPeriodicJob(1, job, {
      ...silentLogger,
      error: (fields) => void lines.push((fields as { readonly err: Error }).err.message),
      info: (_, message) => void lines.push(message),
    })
    await vi.waitUntil(() => turns > failures.length, { timeout: 60_000 })
    stop()
    expect(lines.slice(0, 4)).toEqual(['full', 'gone', 'a periodic job works again', 'full'])
  })
})
