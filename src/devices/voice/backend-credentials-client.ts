/**
 * Backend credentials: sends an OTA request to a voice backend on behalf of a device, keeps the connection settings
 * from its answer, and passes activation on.
 *
 *   device's OTA request  ──same headers, same body──▶ backend ▸ websocket | mqtt: kept here      activation: to the device
 *   device's /activate    ──same body───────────────▶ backend ▸ status: to the device
 *
 * Only the chip can answer a challenge of activation version 2, so the challenge is passed on to it. `firmware` is not
 * passed on: a backend must not flash a device of this house.
 */
import { isJsonObject } from '../../core/json.ts'
import type { JsonObject } from '../../core/json.ts'
import { sanitizeLine } from '../../core/untrusted-text.ts'
import { readResponseText } from '../../toolbox/response-body.ts'
import type { DeviceIdentity } from '../session/fleet.ts'
import { parseBoundedJsonObject } from '../wire/bounded-json.ts'
import type { ActivationSettings, LowerCaseHttpHeaders } from '../wire/ota.ts'
import type { VoiceBackendConnectionSettings } from './voice-backend.ts'

export interface VoiceBackendCredentialsClientOptions {
  readonly ota: string
  /** Board and firmware, for a device that has not sent an OTA request since the gateway started. */
  readonly describe: (deviceId: string) => { readonly board: string; readonly firmware: string } | undefined
}

export interface VoiceBackendCredentialsClient {
  /** Passes on the device's own request. Returns the activation that the backend demands, if any. */
  readonly request: (
    identity: DeviceIdentity,
    headers: LowerCaseHttpHeaders,
    body: string,
  ) => Promise<ActivationSettings | undefined>
  /** The status that the backend answers, or `undefined` if this device has nothing to activate there. */
  readonly activate: (
    identity: DeviceIdentity,
    headers: LowerCaseHttpHeaders,
    body: string,
  ) => Promise<number | undefined>
  readonly address: (identity: DeviceIdentity) => Promise<VoiceBackendConnectionSettings | undefined>
  /** The code that the backend waits for, shown to the owner. */
  readonly codeOf: (deviceId: string) => string | undefined
}

/** Short, because a device waits for our own answer meanwhile. */
const TIMEOUT_MS = 4_000
const MAX_ANSWER_BYTES = 65_536
/** How long an answer is reused. Tokens of public servers last a month, and asking again is cheap. */
const FRESH_MS = 3_600_000
const PASSED_ON = ['activation-version', 'serial-number', 'user-agent', 'accept-language'] as const

interface Known {
  readonly address: VoiceBackendConnectionSettings | undefined
  readonly activation: ActivationSettings | undefined
  readonly atMs: number
}

export function createVoiceBackendCredentialsClient(
  { ota, describe }: VoiceBackendCredentialsClientOptions,
  now: () => number,
): VoiceBackendCredentialsClient {
  const known = new Map<string, Known>()

  const post = async (
    url: string,
    identity: DeviceIdentity,
    headers: LowerCaseHttpHeaders,
    body: string,
  ): Promise<Response> =>
    fetch(url, {
      method: 'POST',
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: {
        'Content-Type': 'application/json',
        'Device-Id': identity.deviceId,
        'Client-Id': identity.clientId,
        ...Object.fromEntries(
          PASSED_ON.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name] ?? '']])),
        ),
      },
      body,
    })

  const request: VoiceBackendCredentialsClient['request'] = async (identity, headers, body) => {
    const response = await post(ota, identity, headers, body)
    const answer =
      response.status === 200
        ? parseBoundedJsonObject((await readResponseText(response, MAX_ANSWER_BYTES)) ?? '')
        : undefined
    if (answer === undefined) return known.get(identity.deviceId)?.activation
    const activation = activationIn(answer)
    known.set(identity.deviceId, { address: addressIn(answer), activation, atMs: now() })
    return activation
  }

  return {
    request,
    activate: async (identity, headers, body) => {
      if (known.get(identity.deviceId)?.activation === undefined) return undefined
      const response = await post(`${ota.replace(/\/$/, '')}/activate`, identity, headers, body)
      await response.body?.cancel()
      return response.status
    },
    address: async (identity) => {
      const before = known.get(identity.deviceId)
      if (before?.address !== undefined && now() - before.atMs < FRESH_MS) return before.address
      const { board = 'hearthbus', firmware = '0' } = describe(identity.deviceId) ?? {}
      // A header allows only these characters, and a board may be called 小智.
      const userAgent = `${board}/${firmware}`.replaceAll(/[^\u0020-\u007E]/g, '?')
      const headers = { 'activation-version': '1', 'user-agent': userAgent }
      await request(identity, headers, bootBody(identity, board, firmware)).catch(() => undefined)
      return known.get(identity.deviceId)?.address
    },
    codeOf: (deviceId) => known.get(deviceId)?.activation?.code,
  }
}

function bootBody({ deviceId, clientId }: DeviceIdentity, board: string, firmware: string): string {
  return JSON.stringify({
    version: 2,
    mac_address: deviceId,
    uuid: clientId,
    application: { name: 'xiaozhi', version: firmware },
    board: { type: board, name: board, mac: deviceId },
  })
}

/** MQTT is used where the answer has both, as the firmware does. */
function addressIn({ mqtt, websocket }: JsonObject): VoiceBackendConnectionSettings | undefined {
  if (isJsonObject(mqtt)) {
    const settings = {
      endpoint: text(mqtt, 'endpoint'),
      clientId: text(mqtt, 'client_id'),
      username: text(mqtt, 'username'),
      password: text(mqtt, 'password'),
      publishTopic: text(mqtt, 'publish_topic'),
      subscribeTopic: text(mqtt, 'subscribe_topic'),
    }
    if (settings.endpoint !== '') return { kind: 'mqtt', mqtt: settings }
  }
  if (isJsonObject(websocket) && /^wss?:\/\//.test(text(websocket, 'url')))
    return { kind: 'websocket', websocket: { url: text(websocket, 'url'), token: text(websocket, 'token') } }
  return undefined
}

/** Cleaned, because this untrusted text is shown on the device and to the owner. */
function activationIn({ activation }: JsonObject): ActivationSettings | undefined {
  if (!isJsonObject(activation) || text(activation, 'code') === '') return undefined
  return {
    code: sanitizeLine(text(activation, 'code'), 16),
    challenge: text(activation, 'challenge').slice(0, 256),
    message: sanitizeLine(text(activation, 'message'), 200),
  }
}

function text(section: JsonObject, key: string): string {
  const value = section[key]
  return typeof value === 'string' ? value.slice(0, 2_048) : ''
}
