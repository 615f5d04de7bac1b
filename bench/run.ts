/**
 * Bench: runs every measurement in this folder, or those that are named. Figures are ratios within one run: machines
 * differ and are shared, so a number alone says little.
 *
 *   npm run bench            all of them
 *   npm run bench -- bus     one
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('.', import.meta.url))
const known = readdirSync(folder)
  .filter((file) => file.endsWith('.bench.ts'))
  .map((file) => file.slice(0, -'.bench.ts'.length))
  .toSorted()
const wanted = process.argv.slice(2)
const unknown = wanted.filter((name) => !known.includes(name))
if (unknown.length > 0) {
  process.stderr.write(`no such bench: ${unknown.join(', ')}; there are ${known.join(', ')}\n`)
  process.exit(2)
}

// Gateways keep their pins here, not in somebody's home.
const state = mkdtempSync(join(tmpdir(), 'hearthbus-bench-state-'))
const env = { ...process.env, XDG_STATE_HOME: state }

let failed = false
for (const name of wanted.length === 0 ? known : wanted) {
  process.stdout.write(`\n── ${name} ${'─'.repeat(Math.max(0, 100 - name.length))}\n`)
  // A process each: what one has compiled, cached or leaked must not flatter or burden the next.
  const { status } = spawnSync(process.execPath, ['--expose-gc', `${folder}${name}.bench.ts`], {
    stdio: 'inherit',
    env,
  })
  failed ||= status !== 0
}
rmSync(state, { recursive: true })
process.exitCode = failed ? 1 : 0
