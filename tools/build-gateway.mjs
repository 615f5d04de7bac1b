/**
 * Build gateway: makes `dist/`, which is what an installed package runs.
 *
 *   dist/cli.js           the command
 *   dist/hearthbus.js     what a program imports
 *   dist/modules/*.js     the code of both. Families are loaded when they are configured, so they have files of their
 *                         own.
 *   dist/types/*.d.ts     for the importing program's compiler
 *   dist/licences.txt     of the packages that are joined with ours
 */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundle, JOINED_PACKAGES, root } from './bundle.mjs'

const outDir = process.argv[2] ?? join(root, 'dist')

rmSync(outDir, { recursive: true, force: true })
await bundle({
  input: { cli: 'src/cli.ts', hearthbus: 'src/hearthbus.ts' },
  outDir,
  sourcemap: true,
})
writeFileSync(join(outDir, 'licences.txt'), JOINED_PACKAGES.map(licenceOf).join('\n\n'))
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
