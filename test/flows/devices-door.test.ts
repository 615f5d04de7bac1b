/** Who stands at the door of a house, and who gets to know of it. */
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/core/json.ts'
import { startDeviceSimulator } from '../../src/sim/devices/device-client.ts'
import { createNumberedIdentity } from '../../src/sim/devices/identity.ts'
import { openDeviceHome } from '../device-home.ts'
import type { DeviceHome } from '../device-home.ts'
import { connectHttp, runCommand } from '../gateway-process.ts'

const WAITING = 'devices://waiting'

let house: DeviceHome
beforeAll(async () => {
  house = await openDeviceHome()
})
afterAll(() => house.stop())

/** A stock device that has just been given our address. */
function knock(number: number): Promise<Response> {
  const { deviceId, clientId } = createNumberedIdentity(number)
  const headers = { 'Device-Id': deviceId, 'Client-Id': clientId, 'User-Agent': 'esp-box-3/2.4.2' }
  return fetch(house.ota, { method: 'POST', headers, body: '{}' })
}

describe.each(['legacy', 'modern'] as const)('the list of pending devices, for a %s client', (era) => {
  const number = era === 'legacy' ? 7_001 : 7_002
  let owner: Client
  let updated: string[]
  beforeAll(async () => {
    owner = await connectHttp(house.url, era, '/mcp', house.ownerToken)
    updated = []
    owner.setNotificationHandler('notifications/resources/updated', ({ params }) => void updated.push(params.uri))
    if (era === 'modern') await owner.listen({ resourceSubscriptions: [WAITING] })
    else await owner.subscribeResource({ uri: WAITING })
  })
  afterAll(() => owner.close())

  const waiting = async (): Promise<readonly JsonObject[]> => {
    const { contents } = await owner.readResource({ uri: WAITING })
    const [{ text = '{}' } = {}] = contents as { text?: string }[]
    return (JSON.parse(text) as { waiting: JsonObject[] }).waiting
  }

  it('is announced as changed when a device appears, and again when it is approved', async () => {
    const told = (await (await knock(number)).json()) as { activation: { code: string } }
    const { code } = told.activation
    await expect.poll(() => updated).toEqual([WAITING])
    expect(await waiting()).toMatchObject([
      { code, id: createNumberedIdentity(number).deviceId, address: '127.0.0.1', replaces: false },
    ])
    // Asking again changes nothing that anybody would have to look at.
    await knock(number)
    await house.asOwner('devices.enrolment.approve', { code })
    await expect.poll(() => updated).toEqual([WAITING, WAITING])
    expect(await waiting()).toEqual([])
  })

  it('is not listed for an agent, and cannot be read by one', async () => {
    const agent = await connectHttp(house.url, era)
    expect((await owner.listResources()).resources.map(({ uri }) => uri)).toContain(WAITING)
    expect((await agent.listResources()).resources.map(({ uri }) => uri)).not.toContain(WAITING)
    await expect(agent.readResource({ uri: WAITING })).rejects.toThrow(/not found|Unknown|no resource/i)
    await agent.close()
    const named = await house.api('/api/call', {
      method: 'POST',
      body: { tool: 'devices.resource.waiting', arguments: {} },
    })
    expect(named).toMatchObject({ outcome: 'denied', structured: { error: { reasons: [{ rule: 'admin-only' }] } } })
  })
})

describe('refused device connections', () => {
  const REFUSED = 'devices://refused'
  let deviceId: string
  let owner: Client
  beforeAll(async () => {
    const device = await house.enrol('Vault', { transport: 'websocket' })
    ;({ deviceId } = device.identity)
    owner = await connectHttp(house.url, 'legacy', '/mcp', house.ownerToken)
  })
  afterAll(() => owner.close())

  /** As a device would dial, with whatever somebody has instead of its token. */
  const dial = async (token: string): Promise<void> => {
    const { clientId } = createNumberedIdentity(1)
    const url = house.ota.replace(/^http/, 'ws').replace('/ota/', '/v1/')
    const websocket = { url, token }
    const identity = { deviceId, clientId, serialNumber: undefined }
    const thief = await startDeviceSimulator({ profile: 'fw-2.4', kind: 'speaker', identity, websocket })
    await expect(thief.wake()).rejects.toThrow('401')
    thief.stop()
  }

  it('are announced to the owner at once, and recorded in the ledger once', async () => {
    const updated = new Promise<string>((resolve) =>
      owner.setNotificationHandler('notifications/resources/updated', ({ params }) => resolve(params.uri)),
    )
    await owner.subscribeResource({ uri: REFUSED })
    for (const token of ['a', 'b', 'c']) await dial(token)
    expect(await updated).toBe(REFUSED)
    const { contents } = await owner.readResource({ uri: REFUSED })
    const [{ text = '' } = {}] = contents as { text?: string }[]
    expect(JSON.parse(text)).toMatchObject({
      refused: [
        {
          device: 'vault',
          id: deviceId,
          door: 'websocket',
          why: 'wrong-credentials',
          sentence: 'A client connected with credentials that are not the device’s, or no longer.',
          address: '127.0.0.1',
          count: 3,
        },
      ],
    })
    const recorded = async (): Promise<readonly JsonObject[]> => {
      const entries = await house.api('/api/ledger/entries?limit=100', { token: house.ownerToken })
      return (entries as unknown as JsonObject[]).filter(({ kind }) => kind === 'device.refused')
    }
    await expect
      .poll(recorded)
      .toMatchObject([
        { entry: { device: 'vault', device_id: deviceId, door: 'websocket', why: 'wrong-credentials', count: 1 } },
      ])
  })

  it('are listed for the owner by the devices command', async () => {
    const { stdout } = await runCommand(house.home, ['devices'])
    expect(stdout).toMatch(
      /Turned away in the last day:\n.*\nvault +127\.0\.0\.1 +3 × .*not the device’s, or no longer/,
    )
  })

  it('are not listed for an agent, and cannot be read by one', async () => {
    const agent = await connectHttp(house.url, 'modern')
    expect((await agent.listResources()).resources.map(({ uri }) => uri)).not.toContain(REFUSED)
    await expect(agent.readResource({ uri: REFUSED })).rejects.toThrow(/not found|Unknown|no resource/i)
    await agent.close()
  })
})
