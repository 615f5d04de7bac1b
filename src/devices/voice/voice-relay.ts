/**
 * Voice relay: the state of one device's conversation with a backend, as a function of the inputs.
 *
 *   idle ──device hello──▶ dialling ──backend hello──▶ open ──backend ends──▶ idle
 *                             │ 8 s, refused             │ backend is lost
 *                             └────────▶ absent ◀────────┘ ──listen start──▶ dialling again (4 s)
 *
 * Everything but `mcp` is passed on unchanged. The device gets one hello, the backend's, and so has the backend's
 * session id. Only if a conversation was resumed in the middle do the two ids differ, and are replaced.
 */
import { isJsonObject, parseStrictJsonText } from '../../core/json.ts'
import type { JsonObject } from '../../core/json.ts'
import type { ListenMode } from '../wire/device-frame.ts'
import { parseBoundedJsonObject } from '../wire/bounded-json.ts'
import type { VoiceRelayToSessionMessage } from '../session/session.ts'

export interface VoiceRelayState {
  readonly phase: 'idle' | 'dialling' | 'open' | 'absent'
  /** The device's hello, for a backend that is reached again in the middle of a conversation. */
  readonly hello: string | undefined
  readonly deviceSession: string
  /** The mode in which the device listened last. */
  readonly mode: ListenMode
  readonly backendSession: string
  /** The device has been greeted already, so the backend's hello is not sent to it. */
  readonly isResuming: boolean
  readonly deadlineMs: number | undefined
  readonly failedAtMs: number
  /** Texts that wait for the backend's hello. */
  readonly held: readonly string[]
  /** The owner was told that the backend is away. */
  readonly isReported: boolean
  /** The person at the device was told that the backend is away. */
  readonly isAlerted: boolean
}

export type VoiceRelayInput = { readonly atMs: number } & (
  | { readonly kind: 'device-hello' | 'device-text' | 'backend-text'; readonly text: string }
  | { readonly kind: 'device-gone' | 'tick' }
  | { readonly kind: 'backend-closed'; readonly isClean: boolean }
)

export type VoiceRelayEffect =
  /** Connects, if there is no connection, and sends this hello. */
  | { readonly kind: 'dial'; readonly hello: string }
  | { readonly kind: 'send'; readonly text: string }
  | { readonly kind: 'close' }
  /** The conversation is over: a WebSocket is closed, an MQTT connection stays. */
  | { readonly kind: 'finish' }
  | { readonly kind: 'device'; readonly input: VoiceRelayToSessionMessage }
  /** A JSON-RPC message of the backend. */
  | { readonly kind: 'mcp'; readonly payload: JsonObject }
  /** Emitted once for each time that the backend is lost or reached again. */
  | { readonly kind: 'presence'; readonly isThere: boolean }

export interface VoiceRelayStep {
  readonly relay: VoiceRelayState
  readonly effects: readonly VoiceRelayEffect[]
}

/** Less than the ten seconds that firmware waits for a hello. */
const HELLO_MS = 8_000
/** Less than five seconds, in which the microphone of a device that already listens must be shut. */
const RESUME_MS = 4_000
/** A backend that has just failed is not tried again for this long. */
const RETRY_MS = 3_000
const MAX_HELD = 16

export const IDLE_VOICE_RELAY_STATE: VoiceRelayState = {
  phase: 'idle',
  hello: undefined,
  deviceSession: '',
  mode: 'auto',
  backendSession: '',
  isResuming: false,
  deadlineMs: undefined,
  failedAtMs: Number.NEGATIVE_INFINITY,
  held: [],
  isReported: false,
  isAlerted: false,
}

export function stepVoiceRelay(relay: VoiceRelayState, input: VoiceRelayInput): VoiceRelayStep {
  switch (input.kind) {
    case 'device-hello':
      return {
        relay: {
          ...relay,
          phase: 'dialling',
          hello: input.text,
          isResuming: false,
          deadlineMs: input.atMs + HELLO_MS,
          held: [],
        },
        effects: [{ kind: 'dial', hello: input.text }],
      }
    case 'device-text':
      return takeDeviceText({ ...relay, mode: listenMode(input.text) ?? relay.mode }, input)
    case 'backend-text':
      return takeBackendText(relay, input.text)
    case 'backend-closed':
      if (relay.phase === 'dialling') return fail(relay, input.atMs, [])
      if (relay.phase !== 'open') return { relay, effects: [] }
      if (input.isClean) return { relay: rest(relay, 'idle'), effects: [toDevice({ kind: 'ended' })] }
      return lose(relay, input.atMs)
    case 'device-gone':
      return { relay: rest({ ...relay, hello: undefined }, 'idle'), effects: [{ kind: 'close' }] }
    case 'tick':
      if (relay.deadlineMs === undefined || input.atMs < relay.deadlineMs) return { relay, effects: [] }
      return fail(relay, input.atMs, [{ kind: 'close' }])
    default:
      return input satisfies never
  }
}

function takeDeviceText(
  relay: VoiceRelayState,
  { text, atMs }: { readonly text: string; readonly atMs: number },
): VoiceRelayStep {
  if (relay.phase === 'open' && parseBoundedJsonObject(text)?.['type'] === 'goodbye') {
    const send: VoiceRelayEffect = { kind: 'send', text: withSession(text, relay.backendSession, relay) }
    return { relay: rest(relay, 'idle'), effects: [send, { kind: 'finish' }] }
  }
  if (relay.phase === 'open')
    return { relay, effects: [{ kind: 'send', text: withSession(text, relay.backendSession, relay) }] }
  if (relay.phase === 'dialling')
    return { relay: { ...relay, held: [...relay.held, text].slice(-MAX_HELD) }, effects: [] }
  const mode = listenMode(text)
  if (mode === undefined) return { relay, effects: [] }
  if (relay.hello === undefined || atMs - relay.failedAtMs < RETRY_MS) return endListening(relay, mode)
  const deviceSession = sessionIn(parseBoundedJsonObject(text)) ?? relay.deviceSession
  return {
    relay: { ...relay, phase: 'dialling', deviceSession, isResuming: true, deadlineMs: atMs + RESUME_MS, held: [text] },
    effects: [{ kind: 'dial', hello: relay.hello }],
  }
}

/**
 * A device finds keys without regard to case and uses the first of two equal ones, where our parser uses the last. A
 * message that the two could read differently would be a way around the guard, and is dropped. So is `system`, with
 * which a server restarts a device without asking a person.
 */
function takeBackendText(relay: VoiceRelayState, text: string): VoiceRelayStep {
  const message = unambiguous(text)
  if (message === undefined || message['type'] === 'system') return { relay, effects: [] }
  if (message['type'] === 'hello')
    return relay.phase === 'dialling' ? open(relay, text, message) : { relay, effects: [] }
  if (message['type'] === 'mcp') {
    const { payload } = message
    return { relay, effects: isJsonObject(payload) ? [{ kind: 'mcp', payload }] : [] }
  }
  if (relay.phase !== 'open') return { relay, effects: [] }
  // Firmware only accepts a goodbye for its present conversation (measured).
  if (message['type'] === 'goodbye')
    return (sessionIn(message) ?? relay.backendSession) === relay.backendSession
      ? { relay: rest(relay, 'idle'), effects: [toDevice({ kind: 'ended' })] }
      : { relay, effects: [] }
  return { relay, effects: [toDevice({ kind: 'text', text: withSession(text, relay.deviceSession, relay) })] }
}

function open(relay: VoiceRelayState, text: string, message: JsonObject): VoiceRelayStep {
  const backendSession = sessionIn(message) ?? ''
  const deviceSession = relay.isResuming ? relay.deviceSession : backendSession
  const opened: VoiceRelayState = {
    ...relay,
    phase: 'open',
    backendSession,
    deviceSession,
    deadlineMs: undefined,
    held: [],
    isReported: false,
    isAlerted: false,
  }
  const held = relay.held.map((each): VoiceRelayEffect => ({
    kind: 'send',
    text: withSession(each, backendSession, opened),
  }))
  const greeting: VoiceRelayEffect = relay.isResuming
    ? toDevice({ kind: 'resumed' })
    : toDevice({ kind: 'hello', text })
  const back: readonly VoiceRelayEffect[] = relay.isReported ? [{ kind: 'presence', isThere: true }] : []
  return { relay: opened, effects: [greeting, ...held, ...back] }
}

/** The backend was not reached. The gateway answers the device's hello, or ends its listening. */
function fail(relay: VoiceRelayState, atMs: number, before: readonly VoiceRelayEffect[]): VoiceRelayStep {
  const mode = relay.held.map(listenMode).findLast((each) => each !== undefined)
  const absent: VoiceRelayState = { ...rest(relay, 'absent'), failedAtMs: atMs }
  const report = absence(absent)
  if (!relay.isResuming)
    return { relay: report.relay, effects: [...before, toDevice({ kind: 'away' }), ...report.effects] }
  const ended = endListening(absent, mode ?? 'auto')
  return { relay: ended.relay, effects: [...before, ...ended.effects] }
}

/** The backend was lost in the middle of a conversation: from now on nobody hears the device. */
function lose(relay: VoiceRelayState, atMs: number): VoiceRelayStep {
  return endListening({ ...rest(relay, 'absent'), failedAtMs: atMs }, relay.mode)
}

/** The alert is shown once per absence; listening is ended every time. */
function endListening(relay: VoiceRelayState, mode: ListenMode): VoiceRelayStep {
  const report = absence(relay)
  const input: VoiceRelayToSessionMessage = { kind: 'unheard', mode, isAlerted: relay.isAlerted }
  return { relay: { ...report.relay, isAlerted: true }, effects: [toDevice(input), ...report.effects] }
}

function absence(relay: VoiceRelayState): VoiceRelayStep {
  if (relay.isReported || relay.phase !== 'absent') return { relay, effects: [] }
  return { relay: { ...relay, isReported: true }, effects: [{ kind: 'presence', isThere: false }] }
}

function rest(relay: VoiceRelayState, phase: 'idle' | 'absent'): VoiceRelayState {
  return { ...relay, phase, deadlineMs: undefined, held: [], isResuming: false }
}

function toDevice(input: VoiceRelayToSessionMessage): VoiceRelayEffect {
  return { kind: 'device', input }
}

/** The text unchanged, unless the two ends use different ids for the conversation. */
function withSession(text: string, wanted: string, { deviceSession, backendSession }: VoiceRelayState): string {
  if (deviceSession === backendSession) return text
  const message = parseBoundedJsonObject(text)
  return message === undefined || sessionIn(message) === undefined
    ? text
    : JSON.stringify({ ...message, session_id: wanted })
}

function unambiguous(text: string): JsonObject | undefined {
  const read = parseStrictJsonText(text)
  if (!read.ok || !isJsonObject(read.value) || typeof read.value['type'] !== 'string') return undefined
  const keys = Object.keys(read.value).map((key) => key.toLowerCase())
  return new Set(keys).size === keys.length ? read.value : undefined
}

function sessionIn(message: JsonObject | undefined): string | undefined {
  const id = message?.['session_id']
  return typeof id === 'string' ? id : undefined
}

function listenMode(text: string): ListenMode | undefined {
  const message = parseBoundedJsonObject(text)
  if (message?.['type'] !== 'listen' || message['state'] !== 'start') return undefined
  const { mode } = message
  return mode === 'auto' || mode === 'manual' ? mode : mode === undefined ? 'auto' : 'realtime'
}
