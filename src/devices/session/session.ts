/**
 * Session: everything known about one device between two inputs, and the inputs and effects of its machine.
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
import type { AnnouncementToPerson, ListenMode } from '../wire/device-frame.ts'
import type { DeviceHello } from '../wire/hello.ts'
import type { DeviceTool, DeviceServerInfo } from '../wire/tool-list.ts'
import type { UdpAudioKeys } from '../wire/udp-audio.ts'
import type { DeviceFault } from './device-fault.ts'

export type SessionPhase = 'greeting' | 'initialising' | 'listing' | 'ready' | 'asleep'

/**
 * `mqtt` is our own server, where a connection is a device; `mqtt-broker` is the owner's broker, where a topic is a
 * device.
 */
export type DeviceTransport = 'websocket' | 'mqtt' | 'mqtt-broker'

/** Where a camera posts its picture; the token is valid for one upload. */
export interface VisionEndpoint {
  readonly url: string
  readonly token: string
}

export interface SessionLink {
  readonly transport: DeviceTransport
  readonly openedAtMs: number
  /** A random seed from outside. Session ids and audio keys are derived from it, so that a trace can be replayed. */
  readonly seed: string
  readonly vision: VisionEndpoint | undefined
  /** Whether the device was told this token; a used one is replaced before the next call. */
  readonly visionTold: boolean
  /**
   * A call was abandoned whose picture may still be posted with this token: no other call is sent before there is a new
   * token.
   */
  readonly visionStale: boolean
  /**
   * Calls that were abandoned and not answered since: the device may still be working on them, and post their pictures.
   */
  readonly overdue: readonly number[]
  readonly udp: { readonly server: string; readonly port: number } | undefined
  /** The number of hellos so far. */
  readonly greetings: number
  readonly lastSentMs: number
  readonly lastHeardMs: number
  /** The number of consecutive requests without an answer. */
  readonly unanswered: number
  /** We have requested that the link is closed; nothing more is sent on it, and no deadline applies. */
  readonly closing: boolean
  /** The device's hello, which waits for the voice backend's answer. */
  readonly hello: DeviceHello | undefined
  /** State of ending a device's listening that no backend hears; `undefined` while there is nothing to watch. */
  readonly microphone: MicrophoneStopState | undefined
}

export interface MicrophoneStopState {
  /** Audio after this moment means that the device did not stop when it was told to. */
  readonly quietFromMs: number
  readonly notice: AnnouncementToPerson | undefined
  readonly alertAtMs: number | undefined
  readonly closeAtMs: number | undefined
}

export interface QueuedDeviceCall {
  readonly call: number
  readonly tool: string
  readonly arguments: Json | undefined
  readonly timeoutMs: number
  readonly sinceMs: number
  readonly expiresAtMs: number
  /** Whether the call stays queued while the device is asleep. */
  readonly outlastsSleep: boolean
  /** The voice backend requested the call. */
  readonly isBackends?: boolean
}

export type RpcRequestPurpose =
  | { readonly kind: 'initialise' | 'list' | 'probe' | 'vision'; readonly round: number }
  | { readonly kind: 'request'; readonly key: number; readonly round: number }
  | { readonly kind: 'call'; readonly waiting: QueuedDeviceCall; readonly abandoned: boolean }

/** The one request that a device is working on. Devices work on one request at a time and answer in that order. */
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
  /** The present transport, or the last one; it determines whether the device reconnects by itself. */
  readonly transport: DeviceTransport | undefined
  /** Empty before the first hello: MQTT devices get requests before they send a hello. */
  readonly sessionId: string
  readonly nextId: number
  readonly flight: RpcRequestInFlight | undefined
  readonly queue: readonly QueuedDeviceCall[]
  /** Waiting requests of the voice backend. */
  readonly requests: readonly RequestFromVoiceBackend[]
  /** Raised by every hello, so that answers to an earlier discovery are not taken for answers to this one. */
  readonly round: number
  readonly attempts: number
  readonly retryAtMs: number | undefined
  readonly listing: ToolListingProgress
  readonly info: DeviceServerInfo | undefined
  readonly tools: readonly DeviceTool[]
  readonly warnings: readonly string[]
}

/** Whether the device is connected and its greeting is over. */
export function isSessionOnline({ phase }: DeviceSession): boolean {
  return phase !== 'asleep' && phase !== 'greeting'
}

/** Messages from a voice relay to a session. */
export type VoiceRelayToSessionMessage =
  /** The backend's hello, for the device. */
  | { readonly kind: 'hello'; readonly text: string }
  /** The backend cannot be reached, so the gateway answers the hello. */
  | { readonly kind: 'away' }
  /** The backend was reached again, in the middle of a conversation. */
  | { readonly kind: 'resumed' }
  /** The device listens, and no backend hears it. */
  | { readonly kind: 'unheard'; readonly mode: ListenMode; readonly isAlerted: boolean }
  /** The backend ended the conversation. */
  | { readonly kind: 'ended' }
  | { readonly kind: 'text'; readonly text: string }
  | ({ readonly kind: 'request' } & Omit<RequestFromVoiceBackend, 'sinceMs' | 'expiresAtMs'>)

/** Messages from a session to its voice relay. */
export type SessionToVoiceRelayMessage =
  | { readonly kind: 'hello' | 'text'; readonly text: string }
  | { readonly kind: 'notification'; readonly method: string; readonly params: JsonObject }
  | {
      readonly kind: 'answer'
      readonly key: number
      readonly answer: { readonly result: Json } | { readonly error: JsonObject }
    }

export interface RequestFromVoiceBackend {
  /** The relay's own key for the request; the relay keeps the backend's id. */
  readonly key: number
  readonly method: string
  readonly params: JsonObject
  readonly timeoutMs: number
  readonly sinceMs: number
  readonly expiresAtMs: number
}

export interface SessionSettings {
  /** Whether devices have a voice backend. */
  readonly hasVoice: boolean
  readonly withUserTools: boolean
  /**
   * The first id of our requests. Boards that also serve another client send us that client's answers, whose ids count
   * from one.
   */
  readonly firstId: number
  readonly helloMs: number
  /** The time-out for `initialize`, `tools/list` and probes; a call has its own. */
  readonly requestMs: number
  /** The wait before discovery is tried again; it doubles with every attempt. */
  readonly retryMs: number
  readonly queueLimit: number
  /**
   * The interval of text frames that keep a WebSocket channel usable; `undefined` saves the battery. Only values below
   * 120 s have an effect.
   */
  readonly keepAliveMs: number | undefined
  /** After this silence, a device behind the owner's broker is probed. */
  readonly probeMs: number
  /** How long after a failed discovery the device is asked again. */
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
  /** `late`: the caller did not withdraw the call, but its total time is over. */
  | { readonly kind: 'cancel'; readonly call: number; readonly late?: boolean }
  /** The old token is used up or outdated; this is the next one. */
  | { readonly kind: 'vision'; readonly vision: VisionEndpoint | undefined }
  | { readonly kind: 'announce'; readonly announcement: AnnouncementToPerson }
  | { readonly kind: 'voice'; readonly input: VoiceRelayToSessionMessage }
  /** The microphone is open: audio arrived, and was not decoded. */
  | { readonly kind: 'audio' }
  | { readonly kind: 'relist' }
  | { readonly kind: 'tick' }
)

export interface DeviceCallRequest {
  /** The fleet's key for this call; its outcome has the same key. */
  readonly call: number
  readonly tool: string
  readonly arguments: Json | undefined
  /** Counted from the moment at which the request is sent. */
  readonly timeoutMs: number
  /** How long to wait for the turn, and for the device to wake if `outlastsSleep`. */
  readonly waitMs: number
  readonly outlastsSleep: boolean
  readonly isBackends?: boolean
}

export type SessionEffect =
  | { readonly kind: 'send'; readonly text: string }
  | { readonly kind: 'close'; readonly reason: string }
  | { readonly kind: 'answer'; readonly call: number; readonly result: Result<ToolResult, DeviceFault> }
  | { readonly kind: 'voice'; readonly output: SessionToVoiceRelayMessage }
  /** The keys of this session's audio from now on. */
  | { readonly kind: 'audio-keys'; readonly keys: UdpAudioKeys }
  /** The request of a call is about to be sent: its time starts now. */
  | { readonly kind: 'sent'; readonly call: number }
  /** The device may still be working on an abandoned call, so its token must not be used for the next one. */
  | { readonly kind: 'vision-stale' }
  | { readonly kind: 'online' }
  | { readonly kind: 'offline'; readonly reason: string }
  /** The device began to listen, and no backend could hear it. */
  | { readonly kind: 'unheard' }
  | { readonly kind: 'tools'; readonly changed: boolean }
  | { readonly kind: 'notification'; readonly method: string; readonly params: JsonObject | undefined }
  /** A message of a device that changed nothing; for counters and logs. */
  | { readonly kind: 'ignored'; readonly what: string }

/** Most devices have no queue and no warnings, so they share one empty list. */
const NOTHING: readonly never[] = []

export const EMPTY_TOOL_LISTING_PROGRESS: ToolListingProgress = {
  cursor: '',
  seen: NOTHING,
  tools: NOTHING,
  warnings: NOTHING,
}

/** What an earlier run stored about a device, so that its tools are known before it wakes. */
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
