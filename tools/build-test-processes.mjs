/**
 * Build test processes: makes `.built/`, which holds what flow tests start in processes of its own: the command, and the
 * mesh node with a service for tests. Vitest calls it before the first flow, `npm run bench` before the first
 * measurement. Nothing is built when the sources are the same as the last time, which takes a few milliseconds to see.
 * The console is made, too: some flows open its page.
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundle, root } from './bundle.mjs'

const built = join(root, '.built')
const stamp = 'built-from'

export default async function buildTestProcesses() {
  await import('./build-console.mjs')
  const wanted = hashSources()
  if (existsSync(join(built, stamp)) && readFileSync(join(built, stamp), 'utf8') === wanted) return
  // Complete before it is there: another run of the tests may be starting processes at this moment.
  const folder = join(root, `.built-${process.pid}`)
  await bundle({
    input: { cli: 'src/cli.ts', 'mesh-node': 'test/mesh-node.ts' },
    outDir: folder,
    sourcemap: false,
  })
  writeFileSync(join(folder, stamp), wanted)
  rmSync(built, { recursive: true, force: true })
  renameSync(folder, built)
}

function hashSources() {
  const files = ['src', 'test', 'tools']
    .flatMap((folder) => readdirSync(join(root, folder), { recursive: true }).map((name) => join(folder, name)))
    .filter((path) => /\.(?:ts|mjs)$/.test(path) && !path.endsWith('.test.ts'))
    .concat('package-lock.json')
    .sort()
  const hash = createHash('sha256')
  for (const path of files) hash.update(path).update(readFileSync(join(root, path)))
  return hash.digest('hex')
}

if (import.meta.main) await buildTestProcesses()
