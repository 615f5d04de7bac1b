/**
 * Server message: how a device interprets a text from its backend. Keys are found without regard to case, and an
 * incomplete message is ignored.
 */
import type { Json, JsonObject } from '../../core/json.ts'
import { isJsonObject, parseJsonOrUndefined } from '../../core/json.ts'
import { findJsonFieldIgnoringCase } from '../../devices/wire/case-insensitive-json-field.ts'
import type { UdpAudioTarget } from './udp-audio-client.ts'

export type ServerMessage =
  | { readonly kind: 'hello'; readonly sessionId: string; readonly udp: UdpAudioTarget | undefined }
  | { readonly kind: 'mcp'; readonly payload: Json | undefined }
  /** Shown on the screen. */
  | { readonly kind: 'show'; readonly text: string; readonly since25: boolean }
  | { readonly kind: 'reboot' }
  | { readonly kind: 'speech'; readonly state: 'start' | 'stop' }
  | { readonly kind: 'goodbye'; readonly sessionId: string }
  | { readonly kind: 'ignored' }

const IGNORED: ServerMessage = { kind: 'ignored' }

export function readServerMessage(text: string, transport: 'websocket' | 'udp'): ServerMessage {
  const message = parseJsonOrUndefined(text)
  if (!isJsonObject(message)) return IGNORED
  switch (findJsonFieldIgnoringCase(message, 'type')) {
    case 'hello':
      return readHello(message, transport)
    case 'mcp':
      return { kind: 'mcp', payload: findJsonFieldIgnoringCase(message, 'payload') }
    case 'alert': {
      const texts = ['status', 'message', 'emotion'].map((name) => findJsonFieldIgnoringCase(message, name))
      if (!texts.every((each) => typeof each === 'string')) return IGNORED
      return { kind: 'show', text: texts.join(' / '), since25: false }
    }
    case 'notify':
      return { kind: 'show', text: `notify ${textOf(message, 'audio_url')}`, since25: true }
    case 'system':
      return findJsonFieldIgnoringCase(message, 'command') === 'reboot' ? { kind: 'reboot' } : IGNORED
    case 'tts': {
      const state = findJsonFieldIgnoringCase(message, 'state')
      return state === 'start' || state === 'stop' ? { kind: 'speech', state } : IGNORED
    }
    case 'goodbye':
      return { kind: 'goodbye', sessionId: textOf(message, 'session_id') }
    default:
      return IGNORED
  }
}

/** A hello without its transport, or over MQTT without a complete UDP section, is ignored. */
function readHello(message: JsonObject, transport: 'websocket' | 'udp'): ServerMessage {
  if (findJsonFieldIgnoringCase(message, 'transport') !== transport) return IGNORED
  const sessionId = textOf(message, 'session_id')
  if (transport === 'websocket') return { kind: 'hello', sessionId, udp: undefined }
  const section = findJsonFieldIgnoringCase(message, 'udp')
  if (!isJsonObject(section)) return IGNORED
  const port = Number(findJsonFieldIgnoringCase(section, 'port'))
  const udp = {
    server: textOf(section, 'server'),
    port,
    keyHex: textOf(section, 'key'),
    nonceHex: textOf(section, 'nonce'),
  }
  const hex = /^[0-9a-f]{32}$/i
  const whole = udp.server !== '' && port >= 1 && port <= 65_535 && hex.test(udp.keyHex) && hex.test(udp.nonceHex)
  return whole ? { kind: 'hello', sessionId, udp } : IGNORED
}

function textOf(message: JsonObject, name: string): string {
  const value = findJsonFieldIgnoringCase(message, name)
  return typeof value === 'string' ? value : ''
}
