/**
 * OTA client: requests a device's settings at boot, and waits until a person approves the device.
 *
 *   POST ota ▸ websocket or mqtt: done        ▸ activation: show the code, POST ota/activate until 200, then again
 */
import { createHmac } from 'node:crypto'
import { request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { Json, JsonObject } from '../../core/json.ts'
import { isJsonObject, parseJsonOrUndefined } from '../../core/json.ts'
import type { AudioVersion } from '../../devices/wire/audio-frame.ts'
import type { MqttSettings, WebSocketSettings } from '../../devices/wire/ota.ts'
import type { HeaderLines, SimulatedIdentity } from './identity.ts'
import { createOtaHeaders, createSystemInfo } from './identity.ts'
import type { FirmwareProfile } from './firmware-profile.ts'

export interface DeviceBootOptions {
  readonly url: string
  readonly identity: SimulatedIdentity
  readonly profile: FirmwareProfile
  readonly board: string
  readonly timing: { readonly activateMs: number; readonly activateErrorMs: number }
  readonly signal: AbortSignal
  readonly onCode: (code: string) => void
}

export interface DeviceBootAnswer {
  readonly websocket: WebSocketSettings | undefined
  readonly mqtt: MqttSettings | undefined
  readonly audioVersion: AudioVersion | undefined
  /** The unchanged answer. */
  readonly raw: JsonObject
}

const ROUNDS = 10

/**
 * Resolves with the connection settings; rejects when the endpoint does not answer 200 with JSON, or the signal aborts.
 * A device that already shows its code keeps waiting if the backend cannot be reached for a moment.
 */
export async function bootDevice(options: DeviceBootOptions): Promise<DeviceBootAnswer> {
  for (let raw = await requestOta(options); ; raw = await requestAgain(options)) {
    const { activation } = raw
    // While there is an activation, the rest of the answer is ignored.
    if (!isJsonObject(activation)) {
      const version = isJsonObject(raw['websocket']) ? raw['websocket']['version'] : undefined
      const audioVersion = version === 1 || version === 2 || version === 3 ? version : undefined
      return { raw, websocket: webSocketOf(raw), mqtt: mqttOf(raw), audioVersion }
    }
    options.onCode(text(activation['code']))
    await activate(options, text(activation['challenge']))
  }
}

async function requestOta({ url, identity, profile, board }: DeviceBootOptions): Promise<JsonObject> {
  const body = JSON.stringify(createSystemInfo(identity, profile, board))
  const answer = await postHttpBody(url, createOtaHeaders(identity, profile, board), body)
  const value = answer.status === 200 ? parseJsonOrUndefined(answer.body) : undefined
  if (!isJsonObject(value)) throw new Error(`the OTA endpoint answered ${answer.status}`)
  return value
}

async function requestAgain(options: DeviceBootOptions): Promise<JsonObject> {
  const { timing, signal } = options
  for (let round = 1; round < ROUNDS; round++) {
    try {
      return await requestOta(options)
    } catch {
      await delay(timing.activateErrorMs, undefined, { signal })
    }
  }
  return requestOta(options)
}

/** Ten attempts, after which the whole request is sent again. */
async function activate(options: DeviceBootOptions, challenge: string): Promise<void> {
  const { url, identity, profile, board, timing, signal } = options
  const body = JSON.stringify(activateBody(identity, profile, challenge))
  for (let round = 0; round < ROUNDS; round++) {
    const address = `${url.endsWith('/') ? url : `${url}/`}activate`
    const headers = createOtaHeaders(identity, profile, board)
    const status = await postHttpBody(address, headers, body).then(
      (answer) => answer.status,
      () => undefined,
    )
    if (status === 200) return
    await delay(status === 202 ? timing.activateMs : timing.activateErrorMs, undefined, { signal })
  }
}

function activateBody({ serialNumber }: SimulatedIdentity, profile: FirmwareProfile, challenge: string): JsonObject {
  if (serialNumber === undefined) return {}
  const hmac = createHmac('sha256', 'key in the eFuse').update(challenge).digest('hex')
  const body = { algorithm: 'hmac-sha256', serial_number: serialNumber, challenge, hmac }
  return profile.name === 'py' ? { Payload: body } : body
}

function webSocketOf(answer: JsonObject): WebSocketSettings | undefined {
  const section = answer['websocket']
  return isJsonObject(section) ? { url: text(section['url']), token: text(section['token']) } : undefined
}

function mqttOf(answer: JsonObject): MqttSettings | undefined {
  const section = answer['mqtt']
  if (!isJsonObject(section)) return undefined
  return {
    endpoint: text(section['endpoint']),
    clientId: text(section['client_id']),
    username: text(section['username']),
    password: text(section['password']),
    publishTopic: text(section['publish_topic']),
    subscribeTopic: text(section['subscribe_topic']),
  }
}

function text(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}

export interface HttpPostAnswer {
  readonly status: number
  readonly body: string
}

/** Streams the pieces of `body` as chunks when there are several, as a camera does. */
export function postHttpBody(
  url: string,
  headers: HeaderLines,
  body: string | readonly Uint8Array[],
): Promise<HttpPostAnswer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      url,
      { method: 'POST', headers: Object.fromEntries(headers), timeout: 30_000 },
      (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('end', () =>
          resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') }),
        )
        answer.on('error', reject)
      },
    )
    outgoing.on('error', reject)
    outgoing.on('timeout', () => outgoing.destroy(new Error('the HTTP request timed out')))
    if (typeof body === 'string') outgoing.end(body)
    else {
      for (const piece of body) outgoing.write(piece)
      outgoing.end()
    }
  })
}
