/**
 * OTA: the request of a device at boot, and the answer with its settings. The device gets all other addresses from this
 * one URL.
 *
 *   POST /xiaozhi/ota/            Device-Id, Client-Id, Activation-Version …  {application, board, …}
 *   200  {"server_time":{…},"websocket":{"url","token","version"}}            or "mqtt", or "activation"
 *   POST /xiaozhi/ota/activate    {} or {algorithm, serial_number, challenge, hmac}      200 done, 202 not yet
 *
 * A key that is left out keeps its old value in the device's memory, so credentials are always sent completely. The
 * `firmware` section is never sent: a version that the device cannot parse makes it throw.
 */
import type { JsonObject } from '../../core/json.ts'
import { isJsonObject } from '../../core/json.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import { parseClientUuid, parseDeviceId } from './device-id.ts'
import { parseBoundedJsonObject } from './bounded-json.ts'

export interface OtaRequest {
  readonly deviceId: string
  readonly clientId: string
  /** 2 when the chip has a serial number, and can sign a challenge with a key that we do not have. */
  readonly activationVersion: 1 | 2
  readonly board: string
  readonly firmware: string
  readonly language: string
}

export interface ActivateRequest {
  readonly deviceId: string
  readonly clientId: string
  /** Only chips with a serial number return it. */
  readonly challenge: string | undefined
}

export type OtaFault = { readonly kind: 'bad-request'; readonly problem: string }

export interface WebSocketSettings {
  readonly url: string
  readonly token: string
}

export interface MqttSettings {
  /** `host:port`; the device uses TLS for port 8883 only. */
  readonly endpoint: string
  readonly clientId: string
  readonly username: string
  readonly password: string
  readonly publishTopic: string
  readonly subscribeTopic: string
}

export interface ActivationSettings {
  readonly code: string
  readonly challenge: string
  readonly message: string
}

export type OtaSettings =
  | { readonly kind: 'websocket'; readonly websocket: WebSocketSettings }
  | { readonly kind: 'mqtt'; readonly mqtt: MqttSettings }
  /** The WebSocket section is for clients that send only one OTA request: its token is valid from the approval on. */
  | {
      readonly kind: 'activation'
      readonly activation: ActivationSettings
      readonly websocket: WebSocketSettings | undefined
    }
  /** A revoked device: the answer contains only the time. */
  | { readonly kind: 'nothing' }

/** Header names in lower case, as node:http gives them. */
export type LowerCaseHttpHeaders = Readonly<Record<string, string | undefined>>

/**
 * The headers identify the device. Firmware inserts the name of the Wi-Fi into the body without escaping, so a quote in
 * it makes the whole body unreadable; the user agent has the same board and version.
 */
export function decodeOtaRequest(headers: LowerCaseHttpHeaders, body: string): Result<OtaRequest, OtaFault> {
  const identity = decodeIdentity(headers)
  if (!identity.ok) return identity
  const message = parseBoundedJsonObject(body) ?? {}
  const agent = /^([^/]{1,64})\/([\w.+-]{1,32})/.exec(headers['user-agent'] ?? '')
  return ok({
    ...identity.value,
    activationVersion: headers['activation-version'] === '2' ? 2 : 1,
    board: text(message, 'board', 'type') ?? agent?.[1] ?? '',
    firmware: text(message, 'application', 'version') ?? agent?.[2] ?? '',
    language: (headers['accept-language'] ?? '').slice(0, 16),
  })
}

export function decodeActivateRequest(headers: LowerCaseHttpHeaders, body: string): Result<ActivateRequest, OtaFault> {
  const identity = decodeIdentity(headers)
  if (!identity.ok) return identity
  const message = parseBoundedJsonObject(body === '' ? '{}' : body)
  if (message === undefined) return fail({ kind: 'bad-request', problem: 'the body is not a JSON object' })
  // py-xiaozhi nests the same fields one level deeper.
  const inner = isJsonObject(message['Payload']) ? message['Payload'] : message
  const { challenge } = inner
  return ok({ ...identity.value, challenge: typeof challenge === 'string' ? challenge.slice(0, 128) : undefined })
}

/** `timezoneMinutes` is minutes east of UTC: the device adds it to the timestamp to get the local time. */
export function encodeOtaAnswer(
  settings: OtaSettings,
  time: { readonly nowMs: number; readonly timezoneMinutes: number },
): JsonObject {
  const server_time = { timestamp: time.nowMs, timezone_offset: time.timezoneMinutes }
  if (settings.kind === 'nothing') return { server_time }
  if (settings.kind === 'websocket') {
    const { url, token } = settings.websocket
    return { server_time, websocket: { url, token, version: 1 } }
  }
  if (settings.kind === 'activation') {
    const { code, challenge, message } = settings.activation
    const { websocket } = settings
    return {
      server_time,
      activation: { message, code, challenge, timeout_ms: 30_000 },
      ...(websocket === undefined ? {} : { websocket: { ...websocket, version: 1 } }),
    }
  }
  const { endpoint, clientId, username, password, publishTopic, subscribeTopic } = settings.mqtt
  const topics = { publish_topic: publishTopic, subscribe_topic: subscribeTopic }
  return { server_time, mqtt: { endpoint, client_id: clientId, username, password, ...topics, keepalive: 240 } }
}

function decodeIdentity(headers: LowerCaseHttpHeaders): Result<{ deviceId: string; clientId: string }, OtaFault> {
  const deviceId = parseDeviceId(headers['device-id'] ?? '')
  const clientId = parseClientUuid(headers['client-id'] ?? '')
  if (deviceId === undefined) return fail({ kind: 'bad-request', problem: 'Device-Id is not a MAC address' })
  if (clientId === undefined) return fail({ kind: 'bad-request', problem: 'Client-Id is not a UUID' })
  return ok({ deviceId, clientId })
}

function text(message: JsonObject, section: string, key: string): string | undefined {
  const inner = message[section]
  const value = isJsonObject(inner) ? inner[key] : undefined
  return typeof value === 'string' ? value.slice(0, 64) : undefined
}
