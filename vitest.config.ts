import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

const FLOWS = 'test/flows/**/*.test.ts'
const POWER_CUTS = 'test/flows/crash.test.ts'

export default defineConfig({
  test: {
    // Generous on purpose: these machines are shared, and no test may fail because a neighbour is busy.
    // A command takes a tenth of a second here and ten there, and a flow types a dozen of them.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
    pool: 'forks',
    coverage: { provider: 'v8', include: ['src/**/*.ts'], exclude: ['src/**/*.test.ts'] },
    // One after the other: flows start processes of their own, and power cuts want the machine to themselves. Not from
    // zero: with one worker Vitest would run group zero after all others. All cores: Vitest by itself leaves one free,
    // which is half of a small machine. Flows wait for a third of their time, so there are more of them than cores.
    projects: [
      {
        extends: true,
        test: {
          name: 'modules',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'console/src/**/*.test.ts'],
          exclude: [FLOWS],
          maxWorkers: '100%',
          sequence: { groupOrder: 1 },
          // A test of a module waits for nobody: one that takes a minute hangs.
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'flows',
          include: [FLOWS],
          exclude: [POWER_CUTS],
          maxWorkers: 2 * availableParallelism(),
          sequence: { groupOrder: 2 },
        },
      },
      { extends: true, test: { name: 'power cuts', include: [POWER_CUTS], sequence: { groupOrder: 3 } } },
    ],
  },
})
