/** The demo as a newcomer runs it: `npm start`, a look, Ctrl-C. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/core/json.ts'
import { CLI, createHome, runCommand, startGatewayProcess } from '../gateway-process.ts'
import type { GatewayProcess, Home } from '../gateway-process.ts'
import { startVoiceBackend } from '../voice-backend.ts'
import type { BackendConnection, VoiceBackend } from '../voice-backend.ts'

/** The robot, as every demo has it. */
const ROBOT = '02:5e:00:00:00:04'

let home: Home
let demo: GatewayProcess
let fleet: ChildProcess | undefined
let backend: VoiceBackend
beforeAll(async () => {
  backend = await startVoiceBackend('t')
  home = createHome(`accessPoints:\n  - { name: kitchen, url: "${backend.url}?token=t" }\n`)
  demo = await startGatewayProcess(home, ['--demo'])
})
afterAll(async () => {
  fleet?.kill('SIGKILL')
  await demo.kill()
  await backend.stop()
  home.remove()
})

async function asOwner(path: string, body?: JsonObject): Promise<string> {
  const owner = readFileSync(join(home.data, 'demo', 'keys', 'owner.token'), 'utf8').trim()
  const response = await fetch(`${demo.url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${owner}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return response.text()
}

/** What the owner sees of devices, those that wait included. */
function devices(): Promise<string> {
  return asOwner('/api/call', { tool: 'devices.enrolment.list', arguments: {} })
}

let nextId = 0
async function say(assistant: BackendConnection, name: string, args: JsonObject = {}): Promise<string> {
  const { result } = await assistant.ask(nextId++, 'tools/call', { name, arguments: args })
  return (result as { content: readonly { text: string }[] }).content[0]?.text ?? ''
}

describe('a voice assistant at an access point with the default profile', () => {
  it('reads the house, sets a lamp, and opens a lock only after an approval', async () => {
    const assistant = await backend.connected()
    const clientInfo = { name: 'xz-mcp-broker', version: '0.0.1' }
    await assistant.ask(nextId++, 'initialize', { protocolVersion: '2024-11-05', capabilities: {}, clientInfo })
    const { result } = await assistant.ask(nextId++, 'tools/list')
    expect((result as { tools: unknown[] }).tools.length).toBeLessThanOrEqual(20)
    await expect.poll(() => say(assistant, 'home_overview'), { timeout: 60_000 }).toMatch(/°C/)
    const why = 'somebody asked in the kitchen'
    expect(await say(assistant, 'home_set', { thing: 'hall lamp', to: 'on', why })).toContain('is “On”, read back')
    const unlock = { thing: 'front door', to: 'unlock', why }
    expect(await say(assistant, 'home_set', unlock)).toContain('to confirm this: “Front Door Lock')
    expect(await say(assistant, 'attention')).toContain('1 call waits for a person')
    const [waiting] = JSON.parse(await asOwner('/api/approvals?state=requested')) as { id: string }[]
    await asOwner(`/api/approvals/${waiting?.id}/approve`, {})
    expect(await say(assistant, 'home_set', unlock)).toContain('“Front Door Lock')
    expect(await say(assistant, 'home_state', { of: ['front door lock'] })).toContain('is unlocked')
    // Backends send the device's serial number along, beside the arguments or among them.
    expect(await say(assistant, 'home_state', { of: ['hall lamp'], serialNumber: 'SN1' })).toContain('is on')
    // A reason that is missing is named.
    expect(await say(assistant, 'home_set', { thing: 'hall lamp', to: 'off' })).toContain('why')
    expect(await runCommand({ ...home, data: join(home.data, 'demo') }, ['ledger', 'verify'])).toMatchObject({
      code: 0,
    })
  })
})

describe('hearthbus demo', () => {
  it('exits on SIGINT, and so does a device simulator that still waits for its approval', async () => {
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
