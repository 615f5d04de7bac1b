/**
 * Voice relay: virtual devices of every generation at a real gateway, whose voice a stand-in backend hears, over
 * WebSocket and over MQTT with UDP. The stand-in says what the open servers say (test/relay-backend.ts).
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../../src/core/json.ts'
import type { BackendRpcAnswer } from '../../../src/devices/voice/voice-relay-client.ts'
import { FIRMWARE_PROFILES } from '../../../src/sim/devices/firmware-profile.ts'
import type { FirmwareProfileName } from '../../../src/sim/devices/firmware-profile.ts'
import type { SimulatedDevice } from '../../../src/sim/devices/simulated-device.ts'
import { startRelayBackend } from '../../relay-backend.ts'
import type { BackendConversation, RelayBackend } from '../../relay-backend.ts'
import { openHouse } from './house.ts'
import type { House } from './house.ts'

const STATUS = 'self.get_device_status'
const VOLUME = 'self.audio_speaker.set_volume'
const NAMES = Object.keys(FIRMWARE_PROFILES) as readonly FirmwareProfileName[]
/** Half a minute of packets of 60 ms, of every length that the firmware's encoder was seen to make, one byte included. */
const HALF_A_MINUTE = Array.from({ length: 500 }, (_, index) =>
  Uint8Array.from({ length: 1 + ((index * 37) % 190) }, (__, at) => (index * 31 + at * 7) % 256),
)

type Leg = 'websocket' | 'mqtt'
const LEGS: readonly (readonly [Leg, Leg])[] = [
  ['websocket', 'websocket'],
  ['mqtt', 'mqtt'],
  ['mqtt', 'websocket'],
  ['websocket', 'mqtt'],
]

describe.each(LEGS)('a device over %s with a backend over %s', (transport, way) => {
  let backend: RelayBackend
  let house: House
  const presence: boolean[] = []
  beforeAll(async () => {
    backend = await startRelayBackend()
    house = await openHouse({
      voice: {
        backend: { address: () => addressOf(backend, way) },
        onPresence: (_, isThere) => presence.push(isThere),
      },
    })
  })
  afterAll(async () => {
    await house.stop()
    await backend.stop()
  })

  it.each(NAMES)(
    '%s keeps its voice conversation, and gateway and backend each get their own answers',
    async (profile) => {
      const { device, conversation } = await talkingDevice(house, backend, { transport, profile })
      const hello = JSON.parse(conversation.texts[0] ?? '') as JsonObject
      expect(hello).toMatchObject({
        type: 'hello',
        transport: way === 'mqtt' ? 'udp' : 'websocket',
        features: { mcp: true },
      })
      // One hello, the backend's, and before our own initialize.
      const heard = device
        .transcript()
        .filter(({ from }) => from === 'backend')
        .map(({ text }) => JSON.parse(text) as JsonObject)
      const hellos = heard.filter(({ type }) => type === 'hello')
      expect(hellos).toHaveLength(1)
      expect(hellos[0]).toMatchObject({
        transport: transport === 'mqtt' ? 'udp' : 'websocket',
        audio_params: { sample_rate: 24_000 },
      })
      await expect.poll(() => conversation.texts.some((text) => text.includes('"listen","state":"start"'))).toBe(true)

      // Both sides ask in the same moment, with ids that collide.
      const [initialized, status, ours] = await Promise.all([
        conversation.ask(1, 'initialize', {
          protocolVersion: '2024-11-05',
          capabilities: {
            roots: { listChanged: true },
            sampling: {},
            vision: { url: 'http://backend.example/vision', token: 't' },
          },
          clientInfo: { name: 'XiaozhiClient', version: '1.0.0' },
        }),
        conversation.ask('a-text', 'tools/call', { name: STATUS, arguments: {} }),
        house.fleet.call(device.identity.deviceId, STATUS, {}),
      ])
      expect(initialized).toMatchObject({
        id: 1,
        result: { serverInfo: { version: FIRMWARE_PROFILES[profile].firmware } },
      })
      expect(status).toMatchObject({ id: 'a-text', result: { content: [{ type: 'text' }] } })
      expect(ours.ok).toBe(true)
      const listed = await conversation.ask(2, 'tools/list')
      expect(JSON.stringify(listed)).toContain(VOLUME)
      // The photo address stays ours.
      const toDevice = device
        .transcript()
        .filter(({ from }) => from === 'backend')
        .map(({ text }) => text)
        .join('\n')
      expect(toDevice).not.toContain('backend.example')
      device.stop()
    },
  )

  it('relays half a minute of audio unchanged in both directions', async () => {
    const { device, conversation } = await talkingDevice(house, backend, { transport, isQuiet: true })
    conversation.audio.length = 0
    // In parts, because the buffer of a UDP socket is smaller than half a minute.
    for (const [upTo, part] of parts(HALF_A_MINUTE)) {
      await device.speak(part)
      await expect.poll(() => conversation.audio.length).toBe(upTo)
    }
    await expect.poll(() => conversation.audio.length).toBe(HALF_A_MINUTE.length)
    expect(conversation.audio.map((each) => Buffer.from(each).toString('hex'))).toEqual(hex(HALF_A_MINUTE))
    conversation.send({ type: 'stt', text: 'turn on the lamp' })
    conversation.send({ type: 'tts', state: 'start' })
    await expect.poll(() => device.voice().state).toBe('speaking')
    for (const [upTo, part] of parts(HALF_A_MINUTE)) {
      await conversation.sendAudio(part)
      await expect.poll(() => device.played().length).toBe(upTo)
    }
    await expect.poll(() => device.played().length).toBe(HALF_A_MINUTE.length)
    expect(hex(device.played())).toEqual(hex(HALF_A_MINUTE))
    expect(device.transcript().some(({ text }) => text === '{"type":"stt","text":"turn on the lamp"}')).toBe(true)
    device.stop()
  })

  it('ends the conversation when the backend does, and reconnects when the device does', async () => {
    const { device, conversation } = await talkingDevice(house, backend, { transport })
    conversation.end()
    await expect.poll(() => device.voice()).toEqual({ state: 'idle', microphoneOpen: false })
    const next = backend.next()
    await device.wake()
    await next
    device.sleep()
    const again = backend.next()
    await device.wake()
    await again
    device.stop()
  })

  it('closes the microphone when the backend is gone, keeps its tools, and resumes when it is back', async () => {
    const { device } = await talkingDevice(house, backend, { transport })
    presence.length = 0
    await backend.stop()
    await expect.poll(() => device.voice().microphoneOpen).toBe(false)
    expect((await house.fleet.call(device.identity.deviceId, STATUS, {})).ok).toBe(true)
    await device.wake()
    await expect.poll(() => device.voice().microphoneOpen).toBe(false)
    const alerts = () => device.shown().filter((text) => text.includes('does not answer'))
    await expect.poll(alerts).toHaveLength(1)
    expect(presence).toEqual([false])

    backend = await startRelayBackend()
    await new Promise((resolve) => setTimeout(resolve, 3_100))
    const back = backend.next()
    await device.wake()
    const conversation = await back
    await expect.poll(() => conversation.audio.length).toBeGreaterThan(2)
    expect(presence).toEqual([false, true])
    device.stop()
  })
})

describe('a voice backend with an OTA address', () => {
  it('sees the device under its own id, has its code shown on it, and cannot flash it', async () => {
    const backend = await startRelayBackend()
    const house = await openHouse({ voice: { backend: { ota: backend.ota } } })
    const plain = backend.answerOta
    backend.answerOta = () => ({
      ...plain(),
      activation: { code: '424242', message: 'console\n424242', challenge: 'c' },
    })
    const codes: string[] = []
    const device = await house.enrol('websocket', {
      awake: false,
      listens: 'auto',
      onCode: (code) => {
        codes.push(code)
        if (code !== '424242') return
        backend.activateStatus = 200
        backend.answerOta = plain
      },
    })
    expect(codes).toContain('424242')
    expect(house.voice?.codeOf(device.identity.deviceId)).toBeUndefined()
    expect(JSON.stringify(device.otaAnswer())).not.toContain('evil')
    expect(JSON.stringify(device.otaAnswer())).not.toContain('token-of-the-backend')
    const [first] = backend.asked
    expect(first?.headers).toMatchObject({
      'device-id': device.identity.deviceId,
      'client-id': device.identity.clientId,
    })
    expect(JSON.parse(first?.body ?? '')).toMatchObject({
      mac_address: device.identity.deviceId,
      application: { version: '2.4.2' },
    })
    await expect.poll(() => backend.conversations.length).toBe(1)
    expect(backend.conversations[0]?.headers).toMatchObject({
      authorization: 'Bearer token-of-the-backend',
      'device-id': device.identity.deviceId,
      'protocol-version': '1',
    })
    await house.stop()
    await backend.stop()
  })
})

describe('a tool call by a voice backend', () => {
  it('passes the guard, also for user-only tools', async () => {
    const backend = await startRelayBackend()
    const asked: string[] = []
    const callTool = async (_: string, name: string): Promise<BackendRpcAnswer> => {
      asked.push(name)
      return {
        result: { content: [{ type: 'text', text: 'I have asked you to confirm this first.' }], isError: false },
      }
    }
    const house = await openHouse({ voice: { backend: { address: () => addressOf(backend, 'websocket') }, callTool } })
    const { device, conversation } = await talkingDevice(house, backend, { transport: 'websocket' })
    const answer = await conversation.ask(1, 'tools/call', { name: 'self.reboot', arguments: {} })
    expect(answer).toMatchObject({ id: 1, result: { content: [{ text: 'I have asked you to confirm this first.' }] } })
    expect(asked).toEqual(['self.reboot'])
    expect(
      device
        .transcript()
        .map(({ text }) => text)
        .join(),
    ).not.toContain('self.reboot')
    await house.stop()
    await backend.stop()
  })
})

describe('a photo requested by a voice backend', () => {
  it('is sent to the backend, while one requested by the gateway stays local', async () => {
    const backend = await startRelayBackend()
    const house = await openHouse({ voice: { backend: { address: () => addressOf(backend, 'websocket') } } })
    const next = backend.next()
    const device = await house.enrol('websocket', { awake: false, kind: 'camera', listens: 'auto' })
    const conversation = await next
    const vision = { url: `${backend.ota}vision`, token: 'for-pictures' }
    await conversation.ask(1, 'initialize', { protocolVersion: '2024-11-05', capabilities: { vision } })
    backend.answerOta = () => ({ success: true, action: 'RESPONSE', response: 'A cat.' })
    const photo = { name: 'self.camera.take_photo', arguments: { question: 'who?' } }
    expect(JSON.stringify(await conversation.ask(2, 'tools/call', photo))).toContain('A cat.')
    const upload = backend.asked.at(-1)
    expect(upload?.headers).toMatchObject({
      authorization: 'Bearer for-pictures',
      'device-id': device.identity.deviceId,
    })
    const ours = await house.fleet.call(device.identity.deviceId, photo.name, photo.arguments)
    expect(ours.ok && ours.value.content[0]?.type).toBe('image')
    expect(backend.asked.at(-1)).toBe(upload)
    await house.stop()
    await backend.stop()
  })
})

describe('a voice backend that floods a device with calls', () => {
  it('has at most sixteen calls in progress, and further ones are refused as busy', async () => {
    const backend = await startRelayBackend()
    const under: (() => void)[] = []
    const callTool = () =>
      new Promise<{ result: JsonObject }>((resolve) => {
        under.push(() => resolve({ result: { content: [] } }))
      })
    const house = await openHouse({ voice: { backend: { address: () => addressOf(backend, 'websocket') }, callTool } })
    const { conversation } = await talkingDevice(house, backend, { transport: 'websocket', isQuiet: true })
    const answers = Array.from({ length: 40 }, (_, index) =>
      conversation.ask(1_000 + index, 'tools/call', { name: 'self.get_device_status', arguments: {} }),
    )
    const busy = await Promise.all(answers.slice(16))
    expect(busy.every(({ error }) => (error as JsonObject)['message'] === 'The device is busy.')).toBe(true)
    expect(under).toHaveLength(16)
    for (const end of under) end()
    expect((await Promise.all(answers.slice(0, 16))).every(({ result }) => result !== undefined)).toBe(true)
    await house.stop()
    await backend.stop()
  })
})

function addressOf({ url, mqttEndpoint }: RelayBackend, way: Leg) {
  if (way === 'websocket') return { kind: 'websocket', websocket: { url, token: '' } } as const
  const account = { clientId: 'GID_test@@@02_00@@@uuid', username: 'u', password: 'p', publishTopic: 'device-server' }
  return { kind: 'mqtt', mqtt: { endpoint: mqttEndpoint, subscribeTopic: '', ...account } } as const
}

interface Talk {
  readonly transport: Leg
  readonly profile?: FirmwareProfileName
  /** Nothing but what the test says leaves its microphone. */
  readonly isQuiet?: boolean
}

async function talkingDevice(
  house: House,
  backend: RelayBackend,
  { transport, profile = 'fw-2.4', isQuiet = false }: Talk,
): Promise<{ device: SimulatedDevice; conversation: BackendConversation }> {
  const next = backend.next()
  const device = await house.enrol(transport, {
    profile,
    awake: false,
    ...(isQuiet ? {} : { listens: 'auto' as const }),
  })
  if (transport === 'mqtt') await device.wake()
  return { device, conversation: await next }
}

function hex(frames: readonly Uint8Array[]): readonly string[] {
  return frames.map((frame) => Buffer.from(frame).toString('hex'))
}

function parts(frames: readonly Uint8Array[]): readonly (readonly [upTo: number, part: readonly Uint8Array[]])[] {
  return Array.from({ length: frames.length / 100 }, (_, index) => [
    (index + 1) * 100,
    frames.slice(index * 100, (index + 1) * 100),
  ])
}
