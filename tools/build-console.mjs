/**
 * Build console: makes console/dist when it is missing or older than its source. Quiet when there is nothing to do, which
 * takes a few milliseconds.
 *
 * What counts is what the files say: a clone gives all of them the time of the checkout.
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const folder = join(root, 'console')
const stamp = join(folder, 'dist', 'built-from')

function sourceHash() {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile() && !file.parentPath.startsWith(join(folder, 'dist')))
    .map((file) => join(file.parentPath, file.name))
    .sort()
  const hash = createHash('sha256')
  for (const file of [...files, join(root, 'package-lock.json')])
    hash.update(file.slice(root.length)).update(readFileSync(file))
  return hash.digest('hex')
}

const wanted = sourceHash()
if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
  process.stderr.write('hearthbus: building the console (a few seconds) …\n')
  const { build } = await import('vite')
  await build({ configFile: join(folder, 'vite.config.ts') })
  writeFileSync(stamp, wanted)
}
