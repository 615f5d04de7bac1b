/** The demo as a newcomer runs it: `npm start`, a look, Ctrl-C. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CLI, createHome, startGatewayProcess } from '../gateway-process.ts'
import type { GatewayProcess, Home } from '../gateway-process.ts'

/** The robot, as every demo has it. */
const ROBOT = '02:5e:00:00:00:04'

let home: Home
let demo: GatewayProcess
let fleet: ChildProcess | undefined
beforeAll(async () => {
  home = createHome()
  demo = await startGatewayProcess(home, ['--demo'])
})
afterAll(async () => {
  fleet?.kill('SIGKILL')
  await demo.kill()
  home.remove()
})

/** What the owner sees of devices, those that wait included. */
async function devices(): Promise<string> {
  const owner = readFileSync(join(home.data, 'demo', 'keys', 'owner.token'), 'utf8').trim()
  const response = await fetch(`${demo.url}/api/call`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${owner}` },
    body: JSON.stringify({ tool: 'devices.enrolment.list', arguments: {} }),
  })
  return response.text()
}

describe('the demo', () => {
  it('ends when it is told to, and so do devices of one’s own, although nobody let them in', async () => {
    await expect.poll(devices).toContain(ROBOT)
    const ota = /http:[^"]+\/xiaozhi\/ota\//.exec(await devices())?.[0]
    const started = spawn(process.execPath, [CLI, 'sim', 'devices', '--first', '9', '--ota', ota ?? ''])
    fleet = started
    const ended = once(started, 'exit')
    // It says its code as soon as it waits.
    await once(started.stdout, 'data')
    started.kill('SIGINT')
    expect(await ended).toEqual([0, null])
    expect(await demo.stop()).toBe(0)
  })
})
