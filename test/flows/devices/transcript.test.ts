import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/core/json.ts'
import type { SimulatedDevice } from '../../../src/sim/devices/simulated-device.ts'
import type { Tool } from '../../../src/sim/devices/tool.ts'
import { ToolFailed } from '../../../src/sim/devices/tool.ts'
import type { FleetEvent } from '../../../src/devices/session/fleet.ts'
import type { House } from './house.ts'
import { nextEvent, openHouse } from './house.ts'

/** Spec 3, message by message: who speaks, the keys of the envelope in order, and the payload. */
function spoken(device: SimulatedDevice) {
  return device.transcript().map(({ from, text }) => {
    const message = JSON.parse(text) as JsonObject
    return { from, keys: Object.keys(message), message, payload: message['payload'] as JsonObject | undefined }
  })
}

const FAILS: Tool = {
  name: 'self.fails',
  description: '',
  properties: [],
  run: () => {
    throw new ToolFailed('it failed')
  },
}
const ENVELOPE = ['session_id', 'type', 'payload']

describe('the conversation of spec 3', () => {
  let house: House
  let device: SimulatedDevice
  let notification: FleetEvent
  beforeAll(async () => {
    house = await openHouse()
    device = await house.enrol('websocket', { profile: 'fw-next', kind: 'robot', tools: [FAILS] })
    const id = device.identity.deviceId
    await house.fleet.call(id, 'self.audio_speaker.set_volume', { volume: 50 })
    await house.fleet.call(id, 'self.fails', {})
    const event = nextEvent(house, 'notification')
    device.notify('notifications/state_changed', { newState: 'idle', oldState: 'connecting' })
    notification = await event
  })
  afterAll(() => house.stop())

  it('begins with the hello of each side', () => {
    const [said, answered] = spoken(device)
    expect(said).toMatchObject({ from: 'device', message: { type: 'hello', version: 1, features: { mcp: true } } })
    expect(answered).toMatchObject({
      from: 'backend',
      message: { type: 'hello', transport: 'websocket', session_id: device.sessionId() },
    })
  })

  it('goes on with initialize', () => {
    const [, , asked, answered] = spoken(device)
    expect(asked?.keys).toEqual(ENVELOPE)
    expect(asked?.payload).toEqual({
      jsonrpc: '2.0',
      method: 'initialize',
      params: {
        capabilities: {
          vision: {
            url: `http://127.0.0.1:${house.httpPort}/xiaozhi/vision/explain`,
            token: expect.stringMatching(/^[\w-]{32}$/),
          },
        },
      },
      id: 1,
    })
    expect(answered?.keys).toEqual(ENVELOPE)
    expect(answered?.payload).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: {
        protocolVersion: '2024-11-05',
        capabilities: { tools: {} },
        serverInfo: { name: 'otto-robot', version: '2.5.0' },
      },
    })
  })

  it('lists page by page, each cursor being the one the device gave', () => {
    const lists = spoken(device).filter(({ payload }) => payload?.['method'] === 'tools/list')
    const pages = spoken(device).flatMap(({ payload }) => {
      const result = payload?.['result'] as JsonObject | undefined
      return result?.['tools'] === undefined ? [] : [result]
    })
    expect(lists.map(({ payload }) => payload)).toEqual(
      ['', ...pages.slice(0, -1).map((page) => page['nextCursor'])].map((cursor, index) => ({
        jsonrpc: '2.0',
        method: 'tools/list',
        params: { cursor, withUserTools: false },
        id: 2 + index,
      })),
    )
    expect(pages.length).toBeGreaterThan(1)
    expect(pages.at(-1)).not.toHaveProperty('nextCursor')
  })

  it('calls a tool and hears its result', () => {
    const call = spoken(device).findIndex(({ payload }) => payload?.['method'] === 'tools/call')
    const [asked, answered] = spoken(device).slice(call)
    const id = asked?.payload?.['id']
    expect(asked?.payload).toEqual({
      jsonrpc: '2.0',
      method: 'tools/call',
      params: { name: 'self.audio_speaker.set_volume', arguments: { volume: 50 } },
      id,
    })
    expect(answered?.payload).toEqual({
      jsonrpc: '2.0',
      id,
      result: { content: [{ type: 'text', text: 'true' }], isError: false },
    })
  })

  it('hears an error in place of a result', () => {
    const call = spoken(device).findLastIndex(({ payload }) => payload?.['method'] === 'tools/call')
    const [asked, answered] = spoken(device).slice(call)
    expect(answered?.payload).toEqual({
      jsonrpc: '2.0',
      id: asked?.payload?.['id'],
      error: { code: -32_603, message: 'it failed' },
    })
  })

  it('hears a notification and passes it on', () => {
    expect(spoken(device).at(-1)?.payload).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/state_changed',
      params: { newState: 'idle', oldState: 'connecting' },
    })
    expect(notification).toMatchObject({
      device: device.identity.deviceId,
      method: 'notifications/state_changed',
      params: { newState: 'idle', oldState: 'connecting' },
    })
  })

  it('is one request, one answer, and nothing in reply to a notification', () => {
    const mcp = device.transcript().filter(({ text }) => text.includes('"type":"mcp"'))
    expect(mcp.map(({ from }) => from)).toEqual([
      ...mcp.slice(0, -1).map((_line, index) => (index % 2 === 0 ? 'backend' : 'device')),
      'device',
    ])
  })

  it('carries the session id of the hello in every frame', () => {
    const ids = spoken(device)
      .slice(2)
      .flatMap(({ message }) => message['session_id'])
    expect(new Set(ids)).toEqual(new Set([device.sessionId()]))
  })
})
