/**
 * A log that cannot be written: the house goes on without it, and a stop is a clean one.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CLI, createHome } from '../gateway-process.ts'
import type { Home } from '../gateway-process.ts'

let home: Home
beforeEach(() => {
  // A HomeSeer that is away is a line in the log, soon after the start.
  home = createHome('homeseer:\n  url: http://127.0.0.1:1\n')
})
afterEach(() => home.remove())

/** Runs a gateway with this for its stderr, until it is up and then a while longer. */
async function runWith(stderr: number): Promise<{ readonly code: number | null; readonly said: string }> {
  const child = spawn(process.execPath, [CLI, 'up', '--data', home.data, '--config', home.config], {
    stdio: ['ignore', 'pipe', stderr],
  })
  const ended = once(child, 'close') as Promise<[number | null]>
  let said = ''
  child.stdout?.on('data', (chunk: Buffer) => {
    const wasUp = said.includes('Ctrl-C stops it')
    said += chunk.toString()
    if (!wasUp && said.includes('Ctrl-C stops it')) setTimeout(() => child.kill('SIGTERM'), 1_000)
  })
  const [code] = await ended
  return { code, said }
}

describe('log output to a full disk', () => {
  it('does not stop the gateway', async () => {
    const full = openSync('/dev/full', 'w')
    const { code, said } = await runWith(full)
    closeSync(full)
    expect([code, said]).toEqual([0, expect.stringContaining('Stopped. Everything is recorded.')])
  })
})

describe('log output to a pipe that nobody reads', () => {
  it('neither blocks the gateway nor its stop', async () => {
    const path = join(home.data, 'log')
    execFileSync('mkfifo', [path])
    // Held open for reading, so that it is a pipe with a reader, who is busy with something else.
    const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
    fill(pipe)
    const stderr = openSync(path, 'w')
    const { code, said } = await runWith(stderr)
    for (const descriptor of [stderr, pipe]) closeSync(descriptor)
    expect([code, said]).toEqual([0, expect.stringContaining('Stopped. Everything is recorded.')])
  })
})

describe('a terminal that closes', () => {
  it('stops the gateway cleanly', async () => {
    const child = spawn(process.execPath, [CLI, 'up', '--data', home.data, '--config', home.config], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const ended = once(child, 'close') as Promise<[number | null, string | null]>
    for await (const chunk of child.stdout) if (String(chunk).includes('Ctrl-C stops it')) break
    child.stderr.destroy()
    child.kill('SIGHUP')
    expect(await ended).toEqual([0, null])
  })
})

function fill(pipe: number): void {
  try {
    for (;;) writeSync(pipe, 'x')
  } catch {
    // It takes nothing more.
  }
}
