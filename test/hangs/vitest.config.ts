/** Tests that hang on purpose, and one that is only slow. `test/hang-runner.test.ts` runs them. */
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/hangs/*.hang.ts'],
    runner: './test/hang-runner.ts',
    provide: { hangWatch: { idleLimitMs: 3_000, startAfterMs: 0 } },
    testTimeout: 200_000,
    hookTimeout: 200_000,
    expect: { poll: { timeout: 5_000 } },
    pool: 'forks',
    maxWorkers: 5,
  },
})
