/**
 * People are told, away from the console, that a call waits for them: by a gateway in a process of its own, at a place
 * behind a real socket, when a real MCP client asks for what is sensitive.
 */
import type { Client } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { JsonObject } from '../../src/core/json.ts'
import type { StatusView } from '../../src/web/views.ts'
import { connectHttp, runCommand, startGatewayProcess } from '../gateway-process.ts'
import type { GatewayProcess, Home } from '../gateway-process.ts'
import { at, callTool, CLAIMS, homeseerHome, openWorld } from '../homeseer-rig.ts'
import type { World } from '../homeseer-rig.ts'
import { freePort } from '../local-port.ts'
import { openInbox } from '../notice-inbox.ts'
import type { Inbox, Letter } from '../notice-inbox.ts'

const UNLOCK = { ...CLAIMS, ref: 141, label: 'Unlock' }
const DISARM = { ...CLAIMS, plugin: 'Hue', functionName: 'Disarm', params: ['4711', 'hunter2'] }

interface HookBody {
  readonly waiting: readonly { readonly id: string; readonly tool: string }[]
}

let world: World
let home: Home
let gateway: GatewayProcess
let client: Client
let port: number
let inbox: Inbox

beforeEach(async () => {
  vi.stubEnv('HEARTHBUS_TEST_TOKEN', 'tk_AgQdq7mVBoFD37zQ')
  world = await openWorld()
  port = await freePort()
  inbox = await openInbox(port)
  const hook = { url: `${inbox.url}/hook/k3x9`, tokenVariable: 'HEARTHBUS_TEST_TOKEN', link: 'http://home.example/' }
  const topic = { url: `${inbox.url}/topic`, format: 'ntfy', names: true }
  home = homeseerHome(world, {}, { notify: [hook, topic] })
  await start()
})
afterEach(async () => {
  await stop()
  await inbox.close()
  home.remove()
  await world.close()
  vi.unstubAllEnvs()
})

async function start(): Promise<void> {
  gateway = await startGatewayProcess(home)
  client = await connectHttp(gateway.url, 'modern')
}

async function stop(): Promise<void> {
  await client.close()
  await gateway.stop()
}

/** The id of the question that is asked instead. */
async function sensitive(tool: string, args: JsonObject): Promise<string> {
  const { answer } = await callTool(client, tool, args)
  expect(answer).toMatchObject({ error: { code: 'POLICY_DENY' } })
  return String(at(answer, 'error', 'details', 'approval_id'))
}

const lettersTo = (path: string): readonly Letter[] => inbox.letters.filter(({ request }) => request === `POST ${path}`)
const hooked = (): readonly HookBody[] => lettersTo('/hook/k3x9').map(({ body }) => JSON.parse(body) as HookBody)
const idsOf = ({ waiting }: HookBody): readonly string[] => waiting.map(({ id }) => id)

async function notifyStatus(): Promise<StatusView['services'][number] | undefined> {
  const response = await fetch(`${gateway.url}/api/status`)
  return ((await response.json()) as StatusView).services.find(({ name }) => name === 'notify')
}

describe('a notice about a call that waits for an approval', () => {
  it('is sent once to each destination, with its token, and without the call’s arguments', async () => {
    const unlocking = await sensitive('hs4.devices.set', UNLOCK)
    // Made again, it is the same question.
    expect(await sensitive('hs4.devices.set', UNLOCK)).toBe(unlocking)
    await expect.poll(() => hooked().length).toBe(1)
    const calling = await sensitive('hs4.plugins.function.call', DISARM)
    await expect.poll(() => [hooked().length, lettersTo('/topic').length]).toEqual([2, 2])

    expect(hooked().map(idsOf)).toEqual([[unlocking], [calling]])
    const [first] = lettersTo('/hook/k3x9')
    expect(first?.headers['authorization']).toBe('Bearer tk_AgQdq7mVBoFD37zQ')
    expect(JSON.parse(first?.body ?? '')).toEqual({
      title: 'home: a call waits for a person',
      message: expect.stringMatching(/^Set a device: hs4\.devices\.set, asked by local\. Answer within \d+ min\.$/),
      link: 'http://home.example/',
      event: 'approval.requested',
      node: 'home',
      count: 1,
      waiting: [
        {
          id: unlocking,
          tool: 'hs4.devices.set',
          what: 'Set a device',
          effect: 'sensitive',
          asked_by: 'local',
          until: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        },
      ],
    })
    const [topic] = lettersTo('/topic')
    expect(topic?.body).toMatch(/^Front Door Lock \(Hall, Ground\): hs4\.devices\.set, asked by local\./)
    expect(topic?.headers).toMatchObject({ title: 'home: a call waits for a person', priority: 'high' })
    expect(topic?.headers).not.toHaveProperty('authorization')
    for (const { body } of inbox.letters) expect(body).not.toMatch(/4711|hunter2|Unlock|try it out|a test asks for it/)
    expect(gateway.log()).not.toMatch(/notice|tk_AgQ/)
  })

  it('is sent when an unreachable destination is back, unless the request was answered meanwhile', async () => {
    await inbox.close()
    const answered = await sensitive('hs4.devices.set', UNLOCK)
    await expect.poll(notifyStatus).toMatchObject({
      status: 'degraded',
      // At neither place.
      details: {
        advice: expect.stringMatching(
          /Notices about waiting calls do not reach .* Notices about waiting calls do not reach /,
        ),
      },
    })
    expect((await runCommand(home, ['approvals', 'deny', answered, 'no'])).code).toBe(0)
    const waiting = await sensitive('hs4.plugins.function.call', DISARM)
    inbox = await openInbox(port)
    await expect.poll(() => hooked().map(idsOf)).toEqual([[waiting]])
    await expect.poll(notifyStatus).toMatchObject({ status: 'ok' })
    const said = gateway.log()
    expect(said.match(/a notice was not accepted/g)).toHaveLength(2)
    expect(said).toContain('ECONNREFUSED')
    expect(said).not.toMatch(/k3x9|tk_AgQ/)
  })

  it('is sent again after a restart of the gateway', async () => {
    const waiting = await sensitive('hs4.devices.set', UNLOCK)
    await expect.poll(() => hooked().map(idsOf)).toEqual([[waiting]])
    await stop()
    await start()
    await expect.poll(() => hooked().map(idsOf)).toEqual([[waiting], [waiting]])
  })
})

describe('hearthbus notify', () => {
  it('sends a test notice to each destination, with and without a gateway, and prints the results', async () => {
    const trial = await runCommand(home, ['notify', '--json'])
    const host = `127.0.0.1:${port}`
    expect(JSON.parse(trial.said)).toEqual([
      { host, format: 'json', ok: true },
      { host, format: 'ntfy', ok: true },
    ])
    expect(trial.code).toBe(0)
    const text = 'This is a test: nothing waits. You will be notified here when a call does.'
    expect(lettersTo('/topic').map(({ body }) => body)).toEqual([text])
    expect(hooked()).toMatchObject([{ event: 'trial', message: text }])
    await stop()
    vi.stubEnv('HEARTHBUS_TEST_TOKEN', '')
    inbox.answer(403)
    const failed = await runCommand(home, ['notify'])
    expect(failed.said).toContain('which should hold its token, is not set')
    expect(failed.said).toContain('failed: it answered 403')
    expect(failed.code).toBe(1)
    expect((await runCommand(home, ['doctor'])).said).toContain('! notify: Notices about waiting calls do not reach')
    await start()
    expect((await runCommand(home, ['doctor'])).said).toContain('! notify: Notices about waiting calls do not reach')
    expect(lettersTo('/hook/k3x9')).toHaveLength(1)
  })
})
