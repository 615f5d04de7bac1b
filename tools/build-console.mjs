/**
 * Build console: makes console/dist when it is missing or older than its source. Quiet when there is nothing to do,
 * which takes a few milliseconds.
 *
 * What counts is what the files say: a clone gives all of them the time of the checkout.
 */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, gzipSync } from 'node:zlib'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const folder = join(root, 'console')
const stamp = join(folder, 'dist', 'built-from')

function sourceHash() {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile() && !file.parentPath.startsWith(join(folder, 'dist')))
    .map((file) => join(file.parentPath, file.name))
    .concat(join(root, 'package-lock.json'), fileURLToPath(import.meta.url))
    .sort()
  const hash = createHash('sha256')
  for (const file of files) hash.update(file.slice(root.length)).update(readFileSync(file))
  return hash.digest('hex')
}

const wanted = sourceHash()
if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
  process.stderr.write('hearthbus: building the console (a few seconds) …\n')
  const { build } = await import('vite')
  await build({ configFile: join(folder, 'vite.config.ts') })
  compress(join(folder, 'dist'))
  writeFileSync(stamp, wanted)
}

/** As small as it gets, once, here: a small computer that serves the page would need seconds for it. */
function compress(dist) {
  const files = readdirSync(dist, { recursive: true, withFileTypes: true }).filter((file) => file.isFile())
  for (const file of files) {
    const path = join(file.parentPath, file.name)
    const bytes = readFileSync(path)
    writeFileSync(`${path}.br`, brotliCompressSync(bytes))
    writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }))
  }
}
