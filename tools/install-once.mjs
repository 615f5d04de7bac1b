/**
 * Install once: makes a fresh clone ready for `npm start` and `npm test`.
 *
 * Runs on whatever Node the machine has (20 or newer), so it uses nothing newer than that. Dependencies are installed
 * when they are missing or when the lock file is newer than the last install; system packages that tests want are
 * installed only when asked for (`--system`) and only where we are root on a Debian; elsewhere those tests say that
 * they did not run.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const lock = join(root, 'package-lock.json')
const installed = join(root, 'node_modules', '.package-lock.json')
const pinnedNode = join(root, 'node_modules', '.bin', 'node')

function dependenciesAreCurrent() {
  if (!existsSync(installed) || !existsSync(pinnedNode)) return false
  if (statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return true
  // A clone gives every file the time of the checkout; what was installed decides, not the clock.
  const wanted = JSON.parse(readFileSync(lock, 'utf8')).packages
  const have = JSON.parse(readFileSync(installed, 'utf8')).packages
  return Object.entries(wanted).every(
    ([path, entry]) => path === '' || entry.optional || entry.peer || have[path]?.version === entry.version,
  )
}

if (!dependenciesAreCurrent()) {
  process.stderr.write('hearthbus: installing dependencies (about a minute, once) …\n')
  const npm = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: root, stdio: 'inherit' })
  if (npm.status !== 0) {
    process.stderr.write('hearthbus: npm ci failed; the lines above say why. Nothing was started.\n')
    process.exit(npm.status ?? 1)
  }
}

/** Debian package → the command whose presence proves it. */
const SYSTEM = {
  'nats-server': 'nats-server',
  mosquitto: 'mosquitto',
  chromium: 'chromium',
  // Networks of their own, and cables that lose packets.
  iproute2: 'ip',
  nftables: 'nft',
}

if (process.argv.includes('--system')) installSystemPackages()

function installSystemPackages() {
  const missing = Object.entries(SYSTEM)
    .filter(([, command]) => !onPath(command))
    .map(([name]) => name)
  if (missing.length === 0) return
  const may = process.platform === 'linux' && process.getuid?.() === 0 && onPath('apt-get')
  if (!may) {
    process.stderr.write(
      `hearthbus: not root on Debian, so tests that need ${missing.join(', ')} will report themselves as not run.\n`,
    )
    return
  }
  process.stderr.write(`hearthbus: installing ${missing.join(', ')} for the tests …\n`)
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const quiet = { stdio: ['ignore', 'ignore', 'inherit'], env, timeout: 300_000 }
  spawnSync('apt-get', ['update', '-qq'], quiet)
  // One by one: a package that this Debian lacks must not keep the others away.
  for (const name of missing) {
    const apt = spawnSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', name], quiet)
    if (apt.status !== 0)
      process.stderr.write(`hearthbus: ${name} could not be installed; its tests report themselves as not run.\n`)
  }
}

function onPath(command) {
  try {
    execFileSync('sh', ['-c', `command -v ${command}`], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
