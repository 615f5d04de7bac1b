/**
 * Captured voice: what unmodified firmware 2.4.2 and its server said, word for word and packet for packet, played to a
 * real gateway over real sockets (test/vectors/voice-frames.json says from which runs it is). Every conversation of the
 * capture is in test/vectors/voice-conversations.jsonl: all texts but `mcp`, and all audio that was kept, in their order.
 */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { fromHex, toHex } from '../../../src/core/bytes.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import { decodeAudioFrame, encodeAudioFrame } from '../../../src/devices/wire/audio-frame.ts'
import { decodeUdpAudio, encodeUdpAudio } from '../../../src/devices/wire/udp-audio.ts'
import type { MqttSettings } from '../../../src/devices/wire/ota.ts'
import { connectSimulatedDeviceOverMqtt } from '../../../src/sim/devices/mqtt-device-client.ts'
import { createNumberedIdentity } from '../../../src/sim/devices/identity.ts'
import { startRelayBackend } from '../../relay-backend.ts'
import type { RelayBackend } from '../../relay-backend.ts'
import { openHouse } from './house.ts'
import type { House } from './house.ts'

interface Conversation {
  readonly deviceHello: string
  readonly serverHello: string
  readonly deviceTexts: readonly string[]
  readonly serverTexts: readonly string[]
  readonly initialize: JsonObject
  readonly tools: readonly JsonObject[]
  readonly up: readonly string[]
  readonly down: readonly string[]
}

const VECTORS = JSON.parse(readFileSync(new URL('../../vectors/voice-frames.json', import.meta.url), 'utf8')) as {
  readonly websocket: Conversation
  readonly mqtt: Conversation & { readonly key: string; readonly nonce: string }
  readonly websocketNobody: { readonly deviceTexts: readonly string[] }
}

/** Who said it (`d`evice or `s`erver), what it is, and the text or the bytes in hex. */
type CapturedFrame = readonly [from: 'd' | 's', kind: 'text' | 'audio', content: string]

interface WholeConversation {
  readonly run: string
  readonly connection: number
  readonly transport: 'websocket' | 'mqtt'
  /** How audio is framed over WebSocket. */
  readonly version?: 1 | 2 | 3
  readonly key?: string
  readonly hello: string
  readonly frames: readonly CapturedFrame[]
}

const CONVERSATIONS = readFileSync(new URL('../../vectors/voice-conversations.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as WholeConversation)

/** One byte, as firmware sends it. */
const SILENCE = fromHex('58')

/** A device that says nothing of its own but answers to MCP, and those are the captured ones under the id asked. */
interface CapturedDevice {
  readonly deviceId: string
  readonly texts: string[]
  readonly audio: Uint8Array[]
  readonly say: (text: string) => void
  readonly sendAudio: (opus: Uint8Array) => Promise<void>
  readonly close: () => void
}

let house: House
let backend: RelayBackend | undefined
let nextIdentity = 7_000
afterEach(async () => {
  await house.stop()
  await backend?.stop()
  backend = undefined
})

describe('captured UDP audio', () => {
  const { key: keyHex, nonce: nonceHex, up, down } = VECTORS.mqtt
  it('is decrypted and encrypted to the same bytes in both directions', async () => {
    house = await openHouse()
    for (const datagram of [...up, ...down]) {
      const packet = decodeUdpAudio(keyHex, fromHex(datagram))
      const value = packet.ok ? packet.value : undefined
      expect(value).toBeDefined()
      expect(
        toHex(encodeUdpAudio({ keyHex, nonceHex }, value ?? { timestampMs: 0, sequence: 0, opus: new Uint8Array() })),
      ).toBe(datagram)
    }
  })
})

describe('a captured voice conversation without a backend', () => {
  it('over WebSocket: every listening is answered with tts start, which closed the microphone in the capture', async () => {
    house = await openHouse()
    const device = await connectWebSocket(VECTORS.websocket)
    device.say(VECTORS.websocket.deviceHello)
    await expect.poll(() => types(device)).toContain('hello')
    // All but the button, which ends the connection here.
    const said = VECTORS.websocketNobody.deviceTexts.filter((text) => !text.endsWith('"abort"}'))
    for (const text of said) device.say(text)
    const starts = said.filter((text) => text.includes('"state":"start"')).length
    await expect.poll(() => device.texts.filter((text) => text.includes('"tts","state":"start"')).length).toBe(starts)
    expect(device.texts.some((text) => text.includes('"type":"alert"'))).toBe(true)
    device.close()
  })

  it('over MQTT: a goodbye with the session id ends listening, as in the capture', async () => {
    house = await openHouse()
    const device = await connectMqtt(VECTORS.mqtt)
    device.say(VECTORS.mqtt.deviceHello)
    await expect.poll(() => types(device)).toContain('hello')
    const { session_id: id } = message(device, 'hello')
    for (const text of VECTORS.mqtt.deviceTexts.slice(0, 2)) device.say(text)
    await expect.poll(() => types(device)).toContain('goodbye')
    expect(message(device, 'goodbye')).toEqual({ session_id: id, type: 'goodbye' })
    device.close()
  })
})

describe('a captured voice conversation through the relay', () => {
  it.each(['websocket', 'mqtt'] as const)('over %s is forwarded unchanged in both directions', async (transport) => {
    const conversation = VECTORS[transport]
    const far = await startRelayBackend()
    backend = far
    const account = {
      clientId: 'GID_test@@@02_00@@@uuid',
      username: 'u',
      password: 'p',
      publishTopic: 'device-server',
    }
    house = await openHouse({
      voice: {
        backend: {
          address: () =>
            transport === 'websocket'
              ? { kind: 'websocket', websocket: { url: far.url, token: '' } }
              : { kind: 'mqtt', mqtt: { endpoint: far.mqttEndpoint, subscribeTopic: '', ...account } },
        },
      },
    })
    const connect = transport === 'websocket' ? connectWebSocket : connectMqtt
    const device = await connect(conversation)
    const began = far.next()
    device.say(conversation.deviceHello)
    const heard = await began
    await expect.poll(() => types(device)).toContain('hello')
    expect(heard.texts[0]).toBe(conversation.deviceHello)
    for (const text of conversation.deviceTexts) device.say(text)
    const said = () => heard.texts.slice(1).filter((text) => !text.includes('"type":"mcp"'))
    await expect.poll(() => said().length).toBe(conversation.deviceTexts.length)
    expect(said()).toEqual(conversation.deviceTexts)
    const up = conversation.up.map((frame) => opusIn(transport, frame))
    for (const opus of up) await device.sendAudio(opus)
    await expect.poll(() => heard.audio.length).toBe(up.length)
    expect(heard.audio.map(toHex)).toEqual(up.map(toHex))
    const own = { type: 'tts', state: 'stop' }
    for (const text of conversation.serverTexts) heard.send(text)
    const toDevice = () =>
      device.texts.filter((text) => !/"type":"(?:mcp|hello)"/.test(text) && text !== JSON.stringify(own))
    await expect.poll(() => toDevice().length).toBe(conversation.serverTexts.length)
    expect(toDevice()).toEqual(conversation.serverTexts)
    const down = conversation.down.map((frame) => opusIn(transport, frame))
    await heard.sendAudio(down)
    await expect.poll(() => device.audio.length).toBe(down.length)
    expect(device.audio.map(toHex)).toEqual(down.map(toHex))
    device.close()
  })
})

describe('every captured conversation without a backend', () => {
  it.each(CONVERSATIONS)(
    '$run, connection $connection, over $transport: every listening is ended',
    async (captured) => {
      house = await openHouse()
      const device = await connectAs(captured)
      device.say(captured.hello)
      await expect.poll(() => types(device)).toContain('hello')
      const { session_id: id } = message(device, 'hello')
      const isWebSocket = captured.transport === 'websocket'
      const said = (state: string) => device.texts.filter((text) => text.includes(`"tts","state":"${state}"`)).length
      const goodbye = JSON.stringify({ session_id: id, type: 'goodbye' })
      const endings = () => (isWebSocket ? said('start') : device.texts.filter((text) => text === goodbye).length)
      // A button ends the connection here. Audio after the first listening is what the device sent because nobody shut
      // its microphone: in the capture, it sent nothing once it was.
      const frames = captured.frames.filter((frame) => isFromDevice(frame) && !frame[2].endsWith('"abort"}'))
      const first = frames.findIndex(([, , content]) => isListenStart(content))
      let [starts, manual] = [0, 0]
      for (const [at, [, kind, content]] of frames.entries()) {
        if (kind === 'text') device.say(content)
        else if (at < first) await device.sendAudio(opusOf(captured, content))
        starts += isListenStart(content) ? 1 : 0
        // A button that was held: firmware is idle after `tts stop`, and would "speak" on without it.
        manual += isWebSocket && isListenStart(content) && content.includes('"mode":"manual"') ? 1 : 0
        await expect.poll(endings).toBe(starts)
        await expect.poll(() => said('stop')).toBe(manual)
      }
      device.close()
    },
  )
})

describe.each(['websocket', 'mqtt'] as const)('every captured conversation through a backend over %s', (kind) => {
  it.each(CONVERSATIONS)('$run, connection $connection, over $transport: is forwarded unchanged', async (captured) => {
    const far = await startRelayBackend()
    backend = far
    house = await openHouse({ voice: { backend: { address: () => addressOf(far, kind) } } })
    const device = await connectAs(captured)
    const began = far.next()
    device.say(captured.hello)
    const heard = await began
    await expect.poll(() => types(device)).toContain('hello')
    const ours = device.texts.length
    // A server cannot speak over UDP before it was spoken to; of one device the audio was counted and not kept.
    await device.sendAudio(SILENCE)
    await expect.poll(() => heard.audio.splice(0).map(toHex)).toEqual([toHex(SILENCE)])
    const fromDevice = captured.frames.filter(isFromDevice)
    const said = fromDevice.filter(([, what]) => what === 'text').map(([, , content]) => content)
    const spoken = fromDevice.filter(([, what]) => what === 'audio').map(([, , hex]) => toHex(opusOf(captured, hex)))
    for (const [, what, content] of fromDevice.filter(([, , text]) => !text.includes('"goodbye"')))
      if (what === 'text') device.say(content)
      else await device.sendAudio(opusOf(captured, content))
    await expect.poll(() => heard.audio.map(toHex)).toEqual(spoken)
    const words = () => heard.texts.slice(1).filter((text) => !text.includes('"type":"mcp"'))
    await expect.poll(words).toEqual(said.filter((text) => !text.includes('"goodbye"')))
    // A goodbye of this conversation ends it; what firmware took no notice of, or restarts at, does not pass.
    const passes = (text: string) => text.startsWith('{"type":') && !/"type":"(?:system|goodbye)"/.test(text)
    const toDevice = captured.frames.filter((frame) => !isFromDevice(frame))
    const answered = toDevice.filter(([, what]) => what === 'text').map(([, , content]) => content)
    const played = toDevice.filter(([, what]) => what === 'audio').map(([, , hex]) => opusOf(captured, hex))
    for (const text of answered) if (passes(text) || !text.includes('"goodbye"')) heard.send(text)
    await heard.sendAudio(played)
    await expect.poll(() => device.audio.map(toHex)).toEqual(played.map(toHex))
    const received = () => device.texts.slice(ours).filter((text) => !text.includes('"type":"mcp"'))
    // The stand-in answers an abort by itself, as the open servers do.
    const stops = said.filter((text) => text.includes('"abort"')).length
    await expect.poll(() => received().slice(stops)).toEqual(answered.filter(passes))
    for (const text of said.filter((each) => each.includes('"goodbye"'))) device.say(text)
    await expect.poll(words).toEqual(said)
    device.close()
  })
})

function isListenStart(content: string): boolean {
  return content.includes('"listen","state":"start"')
}

function isFromDevice([from]: CapturedFrame): boolean {
  return from === 'd'
}

function connectAs({ transport, version }: WholeConversation): Promise<CapturedDevice> {
  return transport === 'websocket' ? connectWebSocket(VECTORS.websocket, version) : connectMqtt(VECTORS.mqtt)
}

function opusOf({ transport, version = 1, key = '' }: WholeConversation, hex: string): Uint8Array {
  const bytes = fromHex(hex)
  const packet = transport === 'mqtt' ? decodeUdpAudio(key, bytes) : decodeAudioFrame(version, bytes)
  return packet.ok ? new Uint8Array(packet.value.opus) : new Uint8Array()
}

function addressOf(far: RelayBackend, kind: 'websocket' | 'mqtt') {
  const account = { clientId: 'GID_test@@@02_00@@@uuid', username: 'u', password: 'p', publishTopic: 'device-server' }
  return kind === 'websocket'
    ? ({ kind, websocket: { url: far.url, token: '' } } as const)
    : ({ kind, mqtt: { endpoint: far.mqttEndpoint, subscribeTopic: '', ...account } } as const)
}

function opusIn(transport: 'websocket' | 'mqtt', frame: string): Uint8Array {
  if (transport === 'websocket') return fromHex(frame)
  const packet = decodeUdpAudio(VECTORS.mqtt.key, fromHex(frame))
  return packet.ok ? packet.value.opus : new Uint8Array()
}

function types({ texts }: CapturedDevice): readonly string[] {
  return texts.map((text) => (JSON.parse(text) as { type: string }).type)
}

function message({ texts }: CapturedDevice, type: string): JsonObject {
  const found = texts.find((text) => text.includes(`"type":"${type}"`))
  return JSON.parse(found ?? '{}') as JsonObject
}

/** The captured answer to our own request, under its id. */
function answer(text: string, { initialize, tools }: Conversation): string | undefined {
  const {
    type,
    session_id: session,
    payload,
  } = JSON.parse(text) as { type: string; session_id: string; payload: JsonObject }
  if (type !== 'mcp' || payload['id'] === undefined) return undefined
  const result = payload['method'] === 'initialize' ? initialize : { tools }
  return JSON.stringify({ session_id: session, type, payload: { jsonrpc: '2.0', id: payload['id'], result } })
}

async function enrolled(transport: 'websocket' | 'mqtt') {
  const { deviceId, clientId } = createNumberedIdentity(nextIdentity++)
  const ask = async () => {
    const headers = { 'device-id': deviceId, 'client-id': clientId, 'user-agent': 'bread-compact-wifi/2.4.2' }
    return (await (await fetch(house.ota, { method: 'POST', headers, body: '{}' })).json()) as JsonObject
  }
  const { activation } = (await ask()) as { activation: { code: string } }
  await house.registrar.approve(activation.code, { by: 'the test', transport })
  return { deviceId, clientId, told: await ask() }
}

async function connectWebSocket(conversation: Conversation, version: 1 | 2 | 3 = 1): Promise<CapturedDevice> {
  const { deviceId, clientId, told } = await enrolled('websocket')
  const { url, token } = told['websocket'] as { url: string; token: string }
  const headers = {
    'Device-Id': deviceId,
    'Client-Id': clientId,
    'Protocol-Version': String(version),
    Authorization: `Bearer ${token}`,
  }
  const socket = new WebSocket(url, { headers, perMessageDeflate: false })
  const [texts, audio]: [string[], Uint8Array[]] = [[], []]
  socket.on('message', (data: Buffer, isBinary: boolean) => {
    if (isBinary) {
      const frame = decodeAudioFrame(version, new Uint8Array(data))
      audio.push(frame.ok ? new Uint8Array(frame.value.opus) : new Uint8Array())
    } else {
      texts.push(data.toString())
      const reply = answer(data.toString(), conversation)
      if (reply !== undefined) socket.send(reply)
    }
  })
  await once(socket, 'open')
  return {
    deviceId,
    texts,
    audio,
    say: (text) => socket.send(text),
    sendAudio: (opus) =>
      new Promise((done) => {
        socket.send(encodeAudioFrame(version, { timestampMs: 0, opus }), { binary: true }, () => done())
      }),
    close: () => socket.terminate(),
  }
}

async function connectMqtt(conversation: Conversation): Promise<CapturedDevice> {
  const { deviceId, told } = await enrolled('mqtt')
  const section = told['mqtt'] as Record<string, string>
  const settings: MqttSettings = {
    endpoint: section['endpoint'] ?? '',
    clientId: section['client_id'] ?? '',
    username: section['username'] ?? '',
    password: section['password'] ?? '',
    publishTopic: section['publish_topic'] ?? '',
    subscribeTopic: section['subscribe_topic'] ?? '',
  }
  const [texts, audio]: [string[], Uint8Array[]] = [[], []]
  const udp = createSocket('udp4')
  let send: (text: string) => void = () => undefined
  let end: () => void = () => undefined
  let target: { key: string; nonce: string; server: string; port: number } | undefined
  let sequence = 0
  udp.on('message', (bytes) => {
    const packet = decodeUdpAudio(target?.key ?? '', bytes)
    if (packet.ok) audio.push(packet.value.opus)
  })
  const ignore = () => undefined
  await connectSimulatedDeviceOverMqtt({
    settings,
    subscribes: false,
    timeoutMs: 60_000,
    keepAliveSeconds: 240,
    events: {
      opened: (line) => {
        send = line.send
        end = line.destroy
      },
      text: (text) => {
        texts.push(text)
        const reply = answer(text, conversation)
        if (reply !== undefined) send(reply)
        if (text.includes('"type":"hello"')) target = (JSON.parse(text) as { udp: typeof target }).udp
      },
      audio: ignore,
      data: ignore,
      closed: ignore,
      answersPings: () => true,
    },
  })
  return {
    deviceId,
    texts,
    audio,
    say: (text) => send(text),
    sendAudio: (opus) => {
      const { key = '', nonce = '', server = '', port = 0 } = target ?? {}
      sequence++
      const packet = encodeUdpAudio({ keyHex: key, nonceHex: nonce }, { timestampMs: 0, sequence, opus })
      return new Promise((done) => udp.send(packet, port, server, () => done()))
    },
    close: () => {
      end()
      udp.close()
    },
  }
}
