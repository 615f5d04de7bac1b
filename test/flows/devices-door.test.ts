/** Who stands at the door of a house, and who gets to know of it. */
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/core/json.ts'
import { numberedIdentity } from '../../src/sim/devices/identity.ts'
import { openDeviceHome } from '../device-home.ts'
import type { DeviceHome } from '../device-home.ts'
import { connectHttp } from '../gateway-process.ts'

const WAITING = 'devices://waiting'

let house: DeviceHome
beforeAll(async () => {
  house = await openDeviceHome()
})
afterAll(() => house.stop())

/** A stock device that has just been given our address. */
function knock(number: number): Promise<Response> {
  const { deviceId, clientId } = numberedIdentity(number)
  const headers = { 'Device-Id': deviceId, 'Client-Id': clientId, 'User-Agent': 'esp-box-3/2.4.2' }
  return fetch(house.ota, { method: 'POST', headers, body: '{}' })
}

describe.each(['legacy', 'modern'] as const)('what waits at the door, for a %s client', (era) => {
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

  it('is announced when somebody comes, and again when they are let in', async () => {
    const told = (await (await knock(number)).json()) as { activation: { code: string } }
    const { code } = told.activation
    await expect.poll(() => updated).toEqual([WAITING])
    expect(await waiting()).toMatchObject([
      { code, id: numberedIdentity(number).deviceId, address: '127.0.0.1', replaces: false },
    ])
    // Asking again changes nothing that anybody would have to look at.
    await knock(number)
    await house.asOwner('devices.enrolment.approve', { code })
    await expect.poll(() => updated).toEqual([WAITING, WAITING])
    expect(await waiting()).toEqual([])
  })

  it('is neither listed for nor told to an agent', async () => {
    const agent = await connectHttp(house.url, era)
    expect((await owner.listResources()).resources.map(({ uri }) => uri)).toContain(WAITING)
    expect((await agent.listResources()).resources.map(({ uri }) => uri)).not.toContain(WAITING)
    await expect(agent.readResource({ uri: WAITING })).rejects.toThrow()
    await agent.close()
    const named = await house.api('/api/call', {
      method: 'POST',
      body: { tool: 'devices.resource.waiting', arguments: {} },
    })
    expect(named).toMatchObject({ outcome: 'denied', structured: { error: { reasons: [{ rule: 'admin-only' }] } } })
  })
})
