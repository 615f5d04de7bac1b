/**
 * Session: everything known about one device between two inputs, and the words in which its machine is spoken to.
 *
 *   asleep ──connected──▶ greeting ──hello──▶ initialising ──▶ listing ──▶ ready
 *      ▲                     (MQTT skips greeting)                           │
 *      └───────────────────────────disconnected──────────────────────────────┘
 *
 * A session outlives connections: it keeps the tools last listed, and the calls that may wait for the device to wake.
 */
import type { Json, JsonObject } from '../../core/json.ts'
import type { Result } from '../../core/result.ts'
import type { ToolResult } from '../wire/tool-result.ts'
import type { DeviceAnnouncement, ListenMode } from '../wire/device-frame.ts'
import type { DeviceHello } from '../wire/hello.ts'
import type { DeviceTool, DeviceServerInfo } from '../wire/tool-list.ts'
import type { UdpAudioKeys } from '../wire/udp-audio.ts'
import type { DeviceFault } from './device-fault.ts'

export type SessionPhase = 'greeting' | 'initialising' | 'listing' | 'ready' | 'asleep'

/** `mqtt` is our own broker, where a connection is a device; `mqtt-broker` is somebody else's, where a topic is. */
export type DeviceTransport = 'websocket' | 'mqtt' | 'mqtt-broker'

/** Where a camera is to post its picture; the token is good for one upload. */
export interface VisionEndpoint {
  readonly url: string
  readonly token: string
}

export interface SessionLink {
  readonly transport: DeviceTransport
  readonly openedAtMs: number
  /** Chance drawn outside: session ids and audio keys are derived from it, so that a trace replays. */
  readonly seed: string
  readonly vision: VisionEndpoint | undefined
  /** Whether the device has heard of this token; a spent one is replaced before the next call. */
  readonly visionTold: boolean
  /** A call was given up that may still post with this token: no other is sent before there is a new one. */
  readonly visionStale: boolean
  /** Calls that were given up and not answered since: the device may still be at them, and post what they were for. */
  readonly overdue: readonly number[]
  readonly udp: { readonly server: string; readonly port: number } | undefined
  /** Hellos so far. */
  readonly greetings: number
  readonly lastSentMs: number
  readonly lastHeardMs: number
  /** Requests in a row that nobody answered. */
  readonly unanswered: number
  /** We have asked for it to be closed; nothing more is sent and nothing more is due. */
  readonly closing: boolean
  /** Said by the device, and waiting for the voice backend's answer. */
  readonly hello: DeviceHello | undefined
  /** Listening that was ended because nobody listens; `undefined` while there is nothing to watch. */
  readonly microphone: MicrophoneStopState | undefined
}

export interface MicrophoneStopState {
  /** Audio after this moment means that the device did not heed what it was told. */
  readonly quietFromMs: number
  readonly notice: DeviceAnnouncement | undefined
  readonly alertAtMs: number | undefined
  readonly closeAtMs: number | undefined
}

export interface WaitingDeviceCall {
  readonly call: number
  readonly tool: string
  readonly arguments: Json | undefined
  readonly timeoutMs: number
  readonly sinceMs: number
  readonly expiresAtMs: number
  /** Stays queued while the device is asleep. */
  readonly outlastsSleep: boolean
  /** It is the voice backend that wants it. */
  readonly isBackends?: boolean
}

export type RpcRequestPurpose =
  | { readonly kind: 'initialise' | 'list' | 'probe' | 'vision'; readonly round: number }
  | { readonly kind: 'request'; readonly key: number; readonly round: number }
  | { readonly kind: 'call'; readonly waiting: WaitingDeviceCall; readonly abandoned: boolean }

/** The one request a device is working on. Devices work on one thing at a time and answer in that order. */
export interface RpcRequestInFlight {
  readonly id: number
  readonly sentAtMs: number
  readonly deadlineMs: number
  readonly purpose: RpcRequestPurpose
}

export interface ToolListingProgress {
  readonly cursor: string
  readonly seen: readonly string[]
  readonly tools: readonly DeviceTool[]
  readonly warnings: readonly string[]
}

export interface DeviceSession {
  readonly device: string
  readonly settings: SessionSettings
  readonly phase: SessionPhase
  readonly link: SessionLink | undefined
  /** How it connects now, or did last time: says whether it will come back by itself. */
  readonly transport: DeviceTransport | undefined
  /** Empty before the first hello, as MQTT devices are asked before they greet. */
  readonly sessionId: string
  readonly nextId: number
  readonly flight: RpcRequestInFlight | undefined
  readonly queue: readonly WaitingDeviceCall[]
  /** Of the voice backend. */
  readonly requests: readonly VoiceBackendRequest[]
  /** Raised by every hello, so that answers to an earlier round of discovery are not taken for this one's. */
  readonly round: number
  readonly attempts: number
  readonly retryAtMs: number | undefined
  readonly listing: ToolListingProgress
  readonly info: DeviceServerInfo | undefined
  readonly tools: readonly DeviceTool[]
  readonly warnings: readonly string[]
}

/** Connected and past its greeting. */
export function isSessionOnline({ phase }: DeviceSession): boolean {
  return phase !== 'asleep' && phase !== 'greeting'
}

/** What a voice relay tells a session. */
export type VoiceToSessionMessage =
  /** The backend's hello, for the device. */
  | { readonly kind: 'hello'; readonly text: string }
  /** Nobody but us answers the hello. */
  | { readonly kind: 'away' }
  /** The backend is back, in the middle of a conversation. */
  | { readonly kind: 'resumed' }
  /** The device listens, and nobody hears it. */
  | { readonly kind: 'unheard'; readonly mode: ListenMode; readonly isAlerted: boolean }
  /** The backend ended the conversation. */
  | { readonly kind: 'ended' }
  | { readonly kind: 'text'; readonly text: string }
  | ({ readonly kind: 'request' } & Omit<VoiceBackendRequest, 'sinceMs' | 'expiresAtMs'>)

/** What a session tells its voice relay. */
export type SessionToVoiceMessage =
  | { readonly kind: 'hello' | 'text'; readonly text: string }
  | { readonly kind: 'notification'; readonly method: string; readonly params: JsonObject }
  | {
      readonly kind: 'answer'
      readonly key: number
      readonly answer: { readonly result: Json } | { readonly error: JsonObject }
    }

export interface VoiceBackendRequest {
  /** The relay's own; the backend's id stays with it. */
  readonly key: number
  readonly method: string
  readonly params: JsonObject
  readonly timeoutMs: number
  readonly sinceMs: number
  readonly expiresAtMs: number
}

export interface SessionSettings {
  /** Whether a voice backend is behind the devices. */
  readonly hasVoice: boolean
  readonly withUserTools: boolean
  /** Of our requests. Boards that also serve somebody else send those answers here, too, and theirs count from one. */
  readonly firstId: number
  readonly helloMs: number
  /** For `initialize`, `tools/list` and probes; calls bring their own. */
  readonly requestMs: number
  /** Before discovery is tried again; doubles with every attempt. */
  readonly retryMs: number
  readonly queueLimit: number
  /** Text frames that keep a WebSocket channel usable; `undefined` spares the battery. Below 120 s to have effect. */
  readonly keepAliveMs: number | undefined
  /** Silence after which a device behind somebody else's broker is asked whether it is still there. */
  readonly probeMs: number
  /** After a device did not answer discovery, how long until it is asked again. */
  readonly relistMs: number
  readonly maxPages: number
  readonly maxTools: number
}

export const DEFAULT_SESSION_SETTINGS: SessionSettings = {
  hasVoice: false,
  withUserTools: false,
  firstId: 10_001,
  helloMs: 10_000,
  requestMs: 15_000,
  retryMs: 2_000,
  queueLimit: 16,
  keepAliveMs: 90_000,
  probeMs: 240_000,
  relistMs: 60_000,
  maxPages: 64,
  maxTools: 256,
}

/** Every input carries the monotonic time at which it happened. */
export type SessionInput = { readonly atMs: number } & (
  | {
      readonly kind: 'connected'
      readonly transport: DeviceTransport
      readonly seed: string
      readonly vision: VisionEndpoint | undefined
      readonly udp: { readonly server: string; readonly port: number } | undefined
    }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'disconnected'; readonly reason: string }
  | { readonly kind: 'call'; readonly request: DeviceCallRequest }
  /** `late`: nobody withdrew it, its time as a whole is over. */
  | { readonly kind: 'cancel'; readonly call: number; readonly late?: boolean }
  /** The old token is spent or stale; here is the next one. */
  | { readonly kind: 'vision'; readonly vision: VisionEndpoint | undefined }
  | { readonly kind: 'announce'; readonly announcement: DeviceAnnouncement }
  | { readonly kind: 'voice'; readonly input: VoiceToSessionMessage }
  /** The microphone is open: audio arrived, of which nothing was read. */
  | { readonly kind: 'audio' }
  | { readonly kind: 'relist' }
  | { readonly kind: 'tick' }
)

export interface DeviceCallRequest {
  /** The caller's key for this call; answers come back under it. */
  readonly call: number
  readonly tool: string
  readonly arguments: Json | undefined
  /** From the moment the request is sent. */
  readonly timeoutMs: number
  /** For its turn, and for the device to wake if `outlastsSleep`. */
  readonly waitMs: number
  readonly outlastsSleep: boolean
  readonly isBackends?: boolean
}

export type SessionEffect =
  | { readonly kind: 'send'; readonly text: string }
  | { readonly kind: 'close'; readonly reason: string }
  | { readonly kind: 'answer'; readonly call: number; readonly result: Result<ToolResult, DeviceFault> }
  | { readonly kind: 'voice'; readonly output: SessionToVoiceMessage }
  /** What audio of this session is enciphered with from now on. */
  | { readonly kind: 'audio-keys'; readonly keys: UdpAudioKeys }
  /** A call's request is about to leave: its time starts now. */
  | { readonly kind: 'sent'; readonly call: number }
  /** The device may still be at a call that was given up: the token it has must not serve the next one. */
  | { readonly kind: 'vision-stale' }
  | { readonly kind: 'online' }
  | { readonly kind: 'offline'; readonly reason: string }
  /** The device wanted to listen, and nobody would have heard it. */
  | { readonly kind: 'unheard' }
  | { readonly kind: 'tools'; readonly changed: boolean }
  | { readonly kind: 'notification'; readonly method: string; readonly params: JsonObject | undefined }
  /** Something a device said that changed nothing: for counters and logs. */
  | { readonly kind: 'ignored'; readonly what: string }

/** Most devices have nothing waiting and nothing to warn of: one empty list is enough for all of them. */
const NOTHING: readonly never[] = []

export const EMPTY_TOOL_LISTING_PROGRESS: ToolListingProgress = {
  cursor: '',
  seen: NOTHING,
  tools: NOTHING,
  warnings: NOTHING,
}

/** What an earlier run remembered of a device, so that its tools are known before it wakes. */
export interface RememberedDevice {
  readonly transport: DeviceTransport | undefined
  readonly info: DeviceServerInfo | undefined
  readonly tools: readonly DeviceTool[]
}

export function newDeviceSession(
  device: string,
  settings: SessionSettings,
  remembered?: RememberedDevice,
): DeviceSession {
  return {
    device,
    settings,
    phase: 'asleep',
    link: undefined,
    transport: remembered?.transport,
    sessionId: '',
    nextId: settings.firstId,
    flight: undefined,
    queue: NOTHING,
    requests: NOTHING,
    round: 0,
    attempts: 0,
    retryAtMs: undefined,
    listing: EMPTY_TOOL_LISTING_PROGRESS,
    info: remembered?.info,
    tools: remembered?.tools ?? NOTHING,
    warnings: NOTHING,
  }
}
