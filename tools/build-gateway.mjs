/**
 * Build gateway: makes `dist/`, which is what an installed package runs.
 *
 *   dist/cli.js           the command
 *   dist/hearthbus.js     what a program imports
 *   dist/rooms/*.js       the code of both, in a few dozen files instead of hundreds: finding and opening files is most
 *                         of a start. Families are loaded when they are configured, so they have files of their own.
 *   dist/types/*.d.ts     for the importing program's compiler
 *   dist/licences.txt     of the packages that are joined with ours
 *
 * Other packages stay outside, at the versions that package.json pins. Files find their neighbours by `../../`, so the
 * rooms are as deep below the root as `src/<room>/` is.
 */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const outDir = process.argv[2] ?? join(root, 'dist')

/** Loaded at every start, from two hundred files of their own. */
const JOINED = [
  '@hono/node-server',
  '@modelcontextprotocol/core',
  '@modelcontextprotocol/server',
  'commander',
  'hono',
  'yaml',
  'zod',
]

rmSync(outDir, { recursive: true, force: true })
await build({
  root,
  configFile: false,
  logLevel: 'warn',
  ssr: { noExternal: JOINED },
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
writeFileSync(join(outDir, 'licences.txt'), JOINED.map(licenceOf).join('\n\n'))
const tsc = spawnSync(
  join(root, 'node_modules/.bin/tsc'),
  ['-p', 'tsconfig.build.json', '--outDir', join(outDir, 'types')],
  {
    cwd: root,
    stdio: 'inherit',
  },
)
process.exitCode = tsc.status ?? 1

function licenceOf(name) {
  const folder = join(root, 'node_modules', name)
  const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each))
  if (file === undefined) throw new Error(`${name} has no licence to pass on`)
  return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`
}
