/**
 * Build gateway: makes `dist/`, which is what an installed package runs.
 *
 *   dist/cli.js           the command
 *   dist/hearthbus.js     what a program imports
 *   dist/rooms/*.js       the code of both, in a few dozen files instead of hundreds: finding and opening files is most
 *                         of a start. Families are loaded when they are configured, so they have files of their own.
 *   dist/types/*.d.ts     for the importing program's compiler
 *
 * Packages stay outside, at the versions that package.json pins. Files find their neighbours by `../../`, so the rooms
 * are as deep below the root as `src/<room>/` is.
 */
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const outDir = process.argv[2] ?? join(root, 'dist')

rmSync(outDir, { recursive: true, force: true })
await build({
  root,
  configFile: false,
  logLevel: 'warn',
  build: {
    ssr: true,
    target: 'node24',
    outDir,
    sourcemap: true,
    rolldownOptions: {
      input: { cli: join(root, 'src/cli.ts'), hearthbus: join(root, 'src/hearthbus.ts') },
      output: { chunkFileNames: 'rooms/[name]-[hash].js' },
    },
  },
})
const tsc = spawnSync(
  join(root, 'node_modules/.bin/tsc'),
  ['-p', 'tsconfig.build.json', '--outDir', join(outDir, 'types')],
  {
    cwd: root,
    stdio: 'inherit',
  },
)
process.exitCode = tsc.status ?? 1
