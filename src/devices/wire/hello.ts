/**
 * Hello: the first message in each direction, over WebSocket and over MQTT.
 *
 *   device ▸ {"type":"hello","version":1,"features":{"mcp":true},"transport":"websocket","audio_params":{…}}
 *   backend ▸ {"type":"hello","transport":"websocket","session_id":"…","audio_params":{…}}
 *
 * A device ignores an answer whose transport is missing or another one, and gives up after ten seconds. Over MQTT the
 * answer must also name a UDP endpoint with key and nonce, whether audio is used or not.
 */
import type { Json, JsonObject } from '../../core/json.ts'
import { isJsonObject } from '../../core/json.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'

export interface AudioParams {
  readonly sampleRate: number
  readonly frameMs: number
}

/** The device's hello. `sessionId` is in spec 3's example; no firmware we know sends it. */
export interface DeviceHello {
  readonly version: number
  readonly transport: 'websocket' | 'udp'
  readonly mcp: boolean
  readonly audio: AudioParams
  readonly sessionId: string | undefined
}

export type HelloFault = { readonly kind: 'bad-hello'; readonly problem: string }

/** Where a device sends its audio: AES-128-CTR, with the nonce as template of every packet's header. */
export interface UdpEndpoint {
  readonly server: string
  readonly port: number
  readonly keyHex: string
  readonly nonceHex: string
}

/** The values that a device means when a number is missing in its hello. */
const DEFAULT_AUDIO: AudioParams = { sampleRate: 16_000, frameMs: 60 }
/** The format of audio for devices: the rate that firmware assumes and opens its decoder with. */
const DOWNLINK_AUDIO: AudioParams = { sampleRate: 24_000, frameMs: 60 }

export function decodeDeviceHello(message: JsonObject): Result<DeviceHello, HelloFault> {
  const { transport, features, audio_params: audio, version, session_id: sessionId } = message
  if (transport !== undefined && transport !== 'websocket' && transport !== 'udp')
    return fail({ kind: 'bad-hello', problem: 'transport is neither websocket nor udp' })
  return ok({
    version: typeof version === 'number' && Number.isInteger(version) ? version : 1,
    transport: transport ?? 'websocket',
    mcp: isJsonObject(features) && features['mcp'] === true,
    audio: decodeAudio(audio),
    sessionId: typeof sessionId === 'string' && sessionId !== '' ? sessionId.slice(0, 128) : undefined,
  })
}

export function encodeWebSocketHello(sessionId: string): string {
  return JSON.stringify({
    type: 'hello',
    version: 1,
    transport: 'websocket',
    session_id: sessionId,
    audio_params: encodeAudio(DOWNLINK_AUDIO),
  })
}

export function encodeUdpHello(sessionId: string, udp: UdpEndpoint): string {
  if (!/^[0-9a-f]{32}$/.test(udp.keyHex) || !/^[0-9a-f]{32}$/.test(udp.nonceHex))
    throw new RangeError('a UDP key and nonce are 32 hex digits each')
  if (!Number.isInteger(udp.port) || udp.port < 1 || udp.port > 65_535) throw new RangeError(`UDP port ${udp.port}`)
  return JSON.stringify({
    type: 'hello',
    version: 3,
    transport: 'udp',
    session_id: sessionId,
    audio_params: encodeAudio(DOWNLINK_AUDIO),
    udp: {
      server: udp.server,
      port: udp.port,
      encryption: 'aes-128-ctr',
      key: udp.keyHex,
      nonce: udp.nonceHex,
    },
  })
}

function encodeAudio(audio: AudioParams): JsonObject {
  return { format: 'opus', sample_rate: audio.sampleRate, channels: 1, frame_duration: audio.frameMs }
}

function decodeAudio(value: Json | undefined): AudioParams {
  if (!isJsonObject(value)) return DEFAULT_AUDIO
  return {
    sampleRate: within(value['sample_rate'], 8_000, 48_000) ?? DEFAULT_AUDIO.sampleRate,
    frameMs: within(value['frame_duration'], 5, 120) ?? DEFAULT_AUDIO.frameMs,
  }
}

function within(value: Json | undefined, low: number, high: number): number | undefined {
  return typeof value === 'number' && value >= low && value <= high ? value : undefined
}
