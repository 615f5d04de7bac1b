/** Every firmware over every transport, from boot to a model's call, and what was said on the wire against spec 3. */
import type { Client } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/core/json.ts'
import type { FirmwareProfileName } from '../../src/sim/devices/firmware-profile.ts'
import type { SimulatedDevice, DeviceMessageTranscriptLine } from '../../src/sim/devices/simulated-device.ts'
import type { FirmwareTool } from '../../src/sim/devices/firmware-tool.ts'
import { FirmwareToolError } from '../../src/sim/devices/firmware-tool.ts'
import { startAutoSubscribingBroker } from '../auto-subscribing-broker.ts'
import type { OtherBroker } from '../auto-subscribing-broker.ts'
import { openDeviceHome } from '../device-home.ts'
import type { DeviceHome, Transport } from '../device-home.ts'
import { connectHttp } from '../gateway-process.ts'
import { Spec3Reader } from '../spec3-reader.ts'

/** What each firmware reports of itself, and how it says that a tool failed. */
const FIRMWARE: Readonly<Record<FirmwareProfileName, { readonly version: string; readonly failure: JsonObject }>> = {
  'fw-1.9': { version: '1.9.4', failure: { error: { message: 'it failed' } } },
  'fw-2.4': { version: '2.4.2', failure: { error: { message: 'it failed' } } },
  'fw-next': { version: '2.5.0', failure: { error: { code: -32_603, message: 'it failed' } } },
  py: { version: '2.1.1', failure: { result: { content: [{ type: 'text', text: 'it failed' }], isError: true } } },
}
const PROFILES = Object.keys(FIRMWARE) as readonly FirmwareProfileName[]
const TRANSPORTS: readonly Transport[] = ['websocket', 'mqtt', 'mqtt-broker']
const TRUE = { result: { content: [{ type: 'text', text: 'true' }], isError: false } }
const VOLUME = 'self.audio_speaker.set_volume'
const STATE = { newState: 'idle', oldState: 'connecting' }
const FAILS: FirmwareTool = {
  name: 'self.fails',
  description: 'Fails.',
  properties: [],
  run: () => {
    throw new FirmwareToolError('it failed')
  },
}

let broker: OtherBroker
let house: DeviceHome
beforeAll(async () => {
  broker = await startAutoSubscribingBroker()
  const address = `url: "mqtt://127.0.0.1:${broker.port}", endpoint: "127.0.0.1:${broker.port}"`
  house = await openDeviceHome({ devices: `broker: { ${address} }` })
})
afterAll(async () => {
  await house.stop()
  await broker.stop()
})

describe.each(TRANSPORTS)('transcript over %s', (transport) => {
  it.each(PROFILES)('a robot with %s exchanges the messages of spec 3', async (profile) => {
    const name = `${profile} ${transport}`
    const slug = name.replaceAll(/[. ]/g, '-')
    // Over our own broker a device answers before it has ever greeted; it greets when it is woken.
    const awake = transport !== 'mqtt'
    const robot = await house.enrol(name, { transport, profile, kind: 'robot', tools: [FAILS], awake })
    if (!awake) await wake(robot, slug)

    const client = await connectHttp(house.url, 'modern', '/mcp/devices')
    const { tools } = await client.listTools()
    const listed = tools.map((tool) => tool.name).filter((tool) => tool.startsWith(`device.${slug}.`))
    const called = await client.callTool({ name: `device.${slug}.${VOLUME}`, arguments: { volume: 50 } })
    expect(called).toMatchObject({
      content: [{ type: 'text', text: 'true' }],
      structuredContent: { device: slug, value: true },
    })
    const failed = await client.callTool({ name: `device.${slug}.self.fails`, arguments: {} })
    expect(failed).toMatchObject({ isError: true, content: [{ type: 'text', text: 'it failed' }] })
    robot.notify('notifications/state_changed', STATE)
    await expect
      .poll(() => notifications(client, slug))
      .toEqual([{ method: 'notifications/state_changed', params: STATE }])

    const said = new Spec3Reader(transport === 'mqtt-broker' ? withoutKnocks(robot.transcript()) : robot.transcript())
    const serverInfo = { name: 'otto-robot', version: FIRMWARE[profile].version }
    if (!awake) {
      said.initialize(vision(transport), serverInfo)
      said.list()
    }
    said.hello(transport === 'websocket' ? { version: 1, transport } : { version: 3, transport: 'udp' })
    said.initialize(vision(transport), serverInfo)
    expect(
      said
        .list()
        .map((tool) => `device.${slug}.${tool}`)
        .toSorted(),
    ).toEqual(listed.toSorted())
    said.call(VOLUME, { volume: 50 }, TRUE)
    said.call('self.fails', {}, FIRMWARE[profile].failure)
    said.notification('notifications/state_changed', STATE)
    said.end()
    expect(said.sessionId).toBe(robot.sessionId())
    robot.stop()
    await client.close()
  })
})

async function wake(device: SimulatedDevice, slug: string): Promise<void> {
  await device.wake()
  await house.until(slug, ({ phase }) => phase === 'ready')
}

/** Behind somebody else's broker nobody knows at which address of ours a picture could arrive. */
function vision(transport: Transport): JsonObject {
  if (transport === 'mqtt-broker') return {}
  const url = house.ota.replace('/ota/', '/vision/explain')
  return { vision: { url, token: expect.stringMatching(/^[\w-]{32}$/) as string } }
}

/**
 * Behind somebody else's broker a device is asked whether it is there until it says something. How often that happens,
 * and whether it hears it, is a matter of chance; what comes after its hello is not.
 */
function withoutKnocks(lines: readonly DeviceMessageTranscriptLine[]): readonly DeviceMessageTranscriptLine[] {
  const idOf = ({ text }: DeviceMessageTranscriptLine) =>
    (JSON.parse(text) as { payload?: { id?: number } }).payload?.id
  const knocks = new Set(lines.filter(({ text }) => text.startsWith('{"session_id":"","type":"mcp"')).map(idOf))
  return lines.filter((line) => idOf(line) === undefined || !knocks.has(idOf(line)))
}

async function notifications(client: Client, device: string): Promise<readonly unknown[]> {
  const { structuredContent } = await client.callTool({ name: 'devices.events.list', arguments: { device } })
  const { events } = structuredContent as { events: { kind: string; details: unknown }[] }
  return events.flatMap(({ kind, details }) => (kind === 'notification' ? [details] : []))
}
