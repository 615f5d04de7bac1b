/**
 * Captured voice: what unmodified firmware 2.4.2 and its server said, word for word and packet for packet, played to a
 * real gateway over real sockets (test/vectors/voice-frames.json says from which runs it is).
 */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { fromHex, toHex } from '../../../src/core/bytes.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import { decodeUdpAudio, encodeUdpAudio } from '../../../src/devices/wire/udp-audio.ts'
import type { MqttSettings } from '../../../src/devices/wire/ota.ts'
import { dialMqtt } from '../../../src/sim/devices/mqtt-device-client.ts'
import { numberedIdentity } from '../../../src/sim/devices/identity.ts'
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

describe('audio over UDP as captured', () => {
  const { key: keyHex, nonce: nonceHex, up, down } = VECTORS.mqtt
  it('is deciphered and enciphered to the same bytes, in both directions', async () => {
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

describe('without a backend', () => {
  it('a captured WebSocket device is told to speak, which shut its microphone in the capture, as often as it listens', async () => {
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

  it('a captured MQTT device is told goodbye with its session id, which ended listening in the capture', async () => {
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

describe('through the relay', () => {
  it.each(['websocket', 'mqtt'] as const)(
    'a captured conversation over %s arrives as it was said, both ways',
    async (transport) => {
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
    },
  )
})

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
  const { deviceId, clientId } = numberedIdentity(nextIdentity++)
  const ask = async () => {
    const headers = { 'device-id': deviceId, 'client-id': clientId, 'user-agent': 'bread-compact-wifi/2.4.2' }
    return (await (await fetch(house.ota, { method: 'POST', headers, body: '{}' })).json()) as JsonObject
  }
  const { activation } = (await ask()) as { activation: { code: string } }
  await house.registrar.approve(activation.code, { by: 'the test', transport })
  return { deviceId, clientId, told: await ask() }
}

async function connectWebSocket(conversation: Conversation): Promise<CapturedDevice> {
  const { deviceId, clientId, told } = await enrolled('websocket')
  const { url, token } = told['websocket'] as { url: string; token: string }
  const headers = {
    'Device-Id': deviceId,
    'Client-Id': clientId,
    'Protocol-Version': '1',
    Authorization: `Bearer ${token}`,
  }
  const socket = new WebSocket(url, { headers, perMessageDeflate: false })
  const [texts, audio]: [string[], Uint8Array[]] = [[], []]
  socket.on('message', (data: Buffer, isBinary: boolean) => {
    if (isBinary) audio.push(new Uint8Array(data))
    else {
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
    sendAudio: (opus) => new Promise((done) => socket.send(opus, { binary: true }, () => done())),
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
  await dialMqtt({
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
