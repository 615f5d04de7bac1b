import { existsSync, mkdirSync, rmSync, statfsSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import LongestFirstSequencer from './test/longest-first-sequencer.ts'

const FLOWS = 'test/flows/**/*.test.ts'
const POWER_CUTS = 'test/flows/crash.test.ts'
/** Tests of what touches the world (sockets, files, processes); all others run on values and virtual time. */
const EDGES = ['src/**/*-{client,server,transport,store}.test.ts', 'test/*.test.ts', 'test/contracts/**/*.test.ts']
/** They read the tree, and belong to every check. */
const RULES = ['test/architecture.test.ts', 'test/documents.test.ts']
/** What a process has loaded or counted since it started is what they test. */
const FRESH_PROCESSES = ['src/bus/call-life.test.ts', 'src/bus/tool.test.ts']
/** Builds what flows start hundreds of times in processes of its own. */
const BUILT_PROCESSES = './tools/build-test-processes.mjs'

/** Nothing happens for so long only where something hangs. */
const IDLE_LIMIT_MS = 30_000
/** Flows wait for commands with spawnSync, which nothing in their own thread can end. */
const AT_ONCE = { hangWatch: { idleLimitMs: IDLE_LIMIT_MS, startAfterMs: 0 } }

/** For tests that touch the world. Those that needed it are named at the end of the run. */
const ONE_MORE_TRY = 1

/** Where gateways keep their pins: hundreds of them are started, and none may leave anything in somebody's home. */
const STATE_FOLDER = join(tmpdir(), `hearthbus-test-state-${process.pid}`)
process.once('exit', () => rmSync(STATE_FOLDER, { recursive: true, force: true }))

const MEMORY = '/dev/shm'
const ROOM_BYTES = 1 << 30

/** For the files of modules: what is in them is tested, not the disk, which a busy machine can make a minute slow. */
function createMemoryFolder(): string {
  const room = existsSync(MEMORY) ? statfsSync(MEMORY) : { bavail: 0, bsize: 0 }
  // Containers often have next to none.
  if (room.bavail * room.bsize < ROOM_BYTES) return tmpdir()
  const folder = join(MEMORY, `hearthbus-test-${process.pid}`)
  mkdirSync(folder, { recursive: true })
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export default defineConfig({
  test: {
    env: { XDG_STATE_HOME: STATE_FOLDER },
    // Generous on purpose: these machines are shared, and no test may fail because a neighbour is busy.
    // A command takes a tenth of a second here and ten there, and a flow types a dozen of them.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // What hangs ends earlier: a test that neither works nor waits for a processor, for half a minute.
    runner: './test/hang-runner.ts',
    provide: { hangWatch: { idleLimitMs: IDLE_LIMIT_MS, startAfterMs: 1_000 } },
    expect: { poll: { timeout: 60_000 } },
    pool: 'forks',
    sequence: { sequencer: LongestFirstSequencer },
    reporters: ['default', './test/long-test-reporter.ts', './test/flaky-test-reporter.ts'],
    coverage: { provider: 'v8', include: ['src/**/*.ts'], exclude: ['src/**/*.test.ts'] },
    // One after the other: flows start processes of their own, and power cuts want the machine to themselves. Not from
    // zero: with one worker Vitest would run group zero after all others. All cores: Vitest by itself leaves one free,
    // which is half of a small machine. Flows wait for most of their time, so there are more of them than cores.
    projects: [
      {
        extends: true,
        test: {
          name: 'modules',
          include: ['src/**/*.test.ts', 'console/src/**/*.test.ts', ...RULES],
          exclude: [...EDGES.slice(0, 1), ...FRESH_PROCESSES],
          maxWorkers: '100%',
          sequence: { groupOrder: 1 },
          env: { TMPDIR: createMemoryFolder() },
          // Hundreds of files in one process for each core: they share nothing that a process keeps, and a process for
          // each would spend more time on loading the source than on testing it.
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'modules in fresh processes',
          include: FRESH_PROCESSES,
          maxWorkers: '100%',
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'edges',
          include: EDGES,
          exclude: RULES,
          maxWorkers: 2 * availableParallelism(),
          sequence: { groupOrder: 2 },
          retry: ONE_MORE_TRY,
        },
      },
      {
        extends: true,
        test: {
          name: 'flows',
          include: [FLOWS],
          retry: ONE_MORE_TRY,
          exclude: [POWER_CUTS],
          maxWorkers: 3 * availableParallelism(),
          sequence: { groupOrder: 3 },
          globalSetup: BUILT_PROCESSES,
          provide: AT_ONCE,
        },
      },
      {
        extends: true,
        test: {
          name: 'power cuts',
          include: [POWER_CUTS],
          sequence: { groupOrder: 4 },
          globalSetup: BUILT_PROCESSES,
          provide: AT_ONCE,
        },
      },
    ],
  },
})
