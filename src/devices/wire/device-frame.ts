/**
 * Device frame: one text frame of a device, and the frames a backend sends.
 *
 *   {"session_id":"…","type":"mcp","payload":{ JSON-RPC 2.0 }}
 *
 * Every message of a device is accepted; one that is not understood is reported by its type, and does not end the
 * connection.
 */
import type { JsonObject } from '../../core/json.ts'
import { isJsonObject } from '../../core/json.ts'
import type { Result } from '../../core/result.ts'
import { fail, ok } from '../../core/result.ts'
import type { DeviceHello, HelloFault } from './hello.ts'
import { decodeDeviceHello } from './hello.ts'
import { parseBoundedJson } from './bounded-json.ts'
import type { RpcFault, RpcMessage } from './rpc.ts'
import { decodeRpc } from './rpc.ts'
import { recoverUnescapedRpc } from './unescaped-rpc.ts'

export type DeviceFrame =
  | { readonly kind: 'hello'; readonly hello: DeviceHello }
  | { readonly kind: 'mcp'; readonly message: RpcMessage; readonly salvaged: boolean }
  /** MQTT only: the device ends its audio session and stays connected. */
  | { readonly kind: 'goodbye' }
  /** `start` opens the microphone. `detect` only names the wake word. */
  | { readonly kind: 'listen'; readonly state: 'detect' | 'start' | 'stop'; readonly mode: ListenMode }
  /** A person interrupts speech, by wake word or by button. */
  | { readonly kind: 'abort'; readonly byWakeWord: boolean }
  /** Some forks and browser clients send a ping as text. */
  | { readonly kind: 'ping' }
  /** `iot` and future types, which an MCP backend ignores. */
  | { readonly kind: 'other'; readonly type: string }

/** `auto` shuts the microphone while the device speaks, `realtime` never does, `manual` is a button that is held. */
export type ListenMode = 'auto' | 'manual' | 'realtime'

export type DeviceFrameFault = { readonly kind: 'not-json' } | { readonly kind: 'no-type' } | HelloFault | RpcFault

export function decodeDeviceFrame(text: string): Result<DeviceFrame, DeviceFrameFault> {
  const message = parseBoundedJson(text)
  if (message === undefined) {
    const rescued = recoverUnescapedRpc(text)
    return rescued === undefined ? fail({ kind: 'not-json' }) : ok({ kind: 'mcp', message: rescued, salvaged: true })
  }
  if (!isJsonObject(message) || typeof message['type'] !== 'string') return fail({ kind: 'no-type' })
  return decodeTyped(message, message['type'])
}

function decodeTyped(message: JsonObject, type: string): Result<DeviceFrame, DeviceFrameFault> {
  switch (type) {
    case 'hello': {
      const hello = decodeDeviceHello(message)
      return hello.ok ? ok({ kind: 'hello', hello: hello.value }) : hello
    }
    case 'mcp': {
      const rpc = decodeRpc(message['payload'])
      return rpc.ok ? ok({ kind: 'mcp', message: rpc.value, salvaged: false }) : rpc
    }
    case 'goodbye':
      return ok({ kind: 'goodbye' })
    case 'ping':
      return ok({ kind: 'ping' })
    case 'listen':
      return ok(decodeListen(message))
    case 'abort':
      return ok({ kind: 'abort', byWakeWord: message['reason'] === 'wake_word_detected' })
    default:
      return ok({ kind: 'other', type: type.slice(0, 32) })
  }
}

/** An unknown state may mean an open microphone, so it counts as `start`; an unknown mode counts as `realtime`. */
function decodeListen({ state, mode }: JsonObject): DeviceFrame {
  return {
    kind: 'listen',
    state: state === 'detect' || state === 'stop' ? state : 'start',
    mode: mode === 'auto' || mode === 'manual' ? mode : mode === undefined ? 'auto' : 'realtime',
  }
}

/** MQTT only: ends listening and the audio session; a device obeys it only with its own session id. */
export function encodeGoodbyeMessage(sessionId: string): string {
  return JSON.stringify({ session_id: sessionId, type: 'goodbye' })
}

/** Between `start` and `stop` a device speaks, and its microphone is shut unless it listens in mode `realtime`. */
export function encodeTtsStartOrStopMessage(sessionId: string, state: 'start' | 'stop'): string {
  return JSON.stringify({ session_id: sessionId, type: 'tts', state })
}

/** Over MQTT a device gets requests before its first hello, with an empty session id. */
export function encodeMcpMessage(sessionId: string, payload: JsonObject): string {
  return JSON.stringify({ session_id: sessionId, type: 'mcp', payload })
}

/**
 * A text frame that every device logs and ignores. It keeps a WebSocket channel usable: the firmware counts 120 s from
 * the last data frame that it received, and WebSocket pings are not data frames.
 */
export function encodeKeepAliveTextFrame(sessionId: string): string {
  return JSON.stringify({ session_id: sessionId, type: 'pong' })
}

/** Shown on the screen with a sound by every firmware that speaks MCP, which requires all three texts. */
interface Alert {
  readonly kind: 'alert'
  readonly status: string
  readonly message: string
  readonly emotion: string
}

/** Spoken from an Ogg Opus file by firmware after 2.4.2, and only while the device is idle. */
interface Notify {
  readonly kind: 'notify'
  readonly audioUrl: string
  readonly subtitles: readonly { readonly startMs: number; readonly text: string }[]
}

export type AnnouncementToPerson = Alert | Notify

export function encodeAnnouncementMessage(sessionId: string, announcement: AnnouncementToPerson): string {
  if (announcement.kind === 'alert') {
    const { status, message, emotion } = announcement
    return JSON.stringify({ session_id: sessionId, type: 'alert', status, message, emotion })
  }
  return JSON.stringify({
    session_id: sessionId,
    type: 'notify',
    audio_url: announcement.audioUrl,
    subtitles: announcement.subtitles.map(({ startMs, text }) => ({ start_ms: startMs, text })),
  })
}
