/**
 * Fleet: the contract between devices and everything that wants something of them.
 *
 *   transports ──attach(identity, link)──▶ fleet ──step──▶ one session per device
 *   tools, people ──call, announce, subscribe──▶ fleet
 *
 * Whoever attaches has been authenticated; whoever calls has been through the gate. The fleet knows neither tokens nor
 * policy.
 */
import type { Json, JsonObject } from '../../core/json.ts'
import type { Result } from '../../core/result.ts'
import type { ToolResult } from '../wire/tool-result.ts'
import type { AudioFrame } from '../wire/audio-frame.ts'
import type { DeviceAnnouncement } from '../wire/device-frame.ts'
import type { MqttCredentials } from '../wire/mqtt-identity.ts'
import type { DeviceTool, DeviceServerInfo } from '../wire/tool-list.ts'
import type { UdpAudioKeys } from '../wire/udp-audio.ts'
import type { DeviceFault } from './device-fault.ts'
import type {
  SessionPhase,
  RememberedDevice,
  DeviceTransport,
  VisionEndpoint,
  VoiceToSessionMessage,
  SessionToVoiceMessage,
} from './session.ts'

export interface DeviceFleet {
  /** All devices ever attached or remembered, asleep ones too. */
  readonly devices: () => readonly FleetDevice[]
  readonly device: (id: string) => FleetDevice | undefined
  readonly call: (
    id: string,
    tool: string,
    args: Json | undefined,
    options?: DeviceCallOptions,
  ) => Promise<Result<ToolResult, DeviceFault>>
  /** Nothing comes back from a device: the answer says only that the words were sent. */
  readonly announce: (id: string, announcement: DeviceAnnouncement) => Result<'sent', DeviceFault>
  /** Asks for the tools again; the outcome is an event. */
  readonly relist: (id: string) => void
  /** Ends when the signal aborts, the consumer returns, or the fleet closes. */
  readonly subscribe: (signal?: AbortSignal) => AsyncIterableIterator<FleetEvent>
  /** Hangs up, if there is a connection. */
  readonly disconnect: (id: string, reason: string) => void
  /** Hangs up and forgets that there ever was such a device. */
  readonly forget: (id: string) => void
  readonly stats: () => FleetStats
  readonly close: () => void
}

export interface DeviceCallOptions {
  readonly signal?: AbortSignal | undefined
  /** How long the device may take, from the moment it is asked. By default what the tool usually needs. */
  readonly timeoutMs?: number | undefined
  /** `fail` answers at once; `queue` keeps the call until the device connects or `waitMs` is over. */
  readonly whenAsleep?: 'fail' | 'queue' | undefined
  /** How long the call may wait for its turn and for the device to wake. */
  readonly waitMs?: number | undefined
  /** The voice backend wants it: its pictures go there. */
  readonly isBackends?: boolean | undefined
}

export interface FleetDevice {
  readonly id: string
  readonly online: boolean
  readonly phase: SessionPhase
  /** Now, or last time. */
  readonly transport: DeviceTransport | undefined
  readonly remoteAddress: string | undefined
  readonly info: DeviceServerInfo | undefined
  /** Of the last listing, also while the device is asleep. */
  readonly tools: readonly DeviceTool[]
  /** What is missing from the list; in part the device's own words. */
  readonly warnings: readonly string[]
  readonly queued: number
  /** What it works on now is for the voice backend. */
  readonly isAtBackends?: boolean
  /** Wall clock; `undefined` for a device not seen since the start. */
  readonly lastSeenMs: number | undefined
}

export type FleetEvent =
  | ({ readonly device: string; readonly atMs: number } & (
      | { readonly kind: 'online'; readonly transport: DeviceTransport }
      | { readonly kind: 'offline'; readonly reason: string }
      | { readonly kind: 'tools'; readonly changed: boolean }
      | { readonly kind: 'notification'; readonly method: string; readonly params: JsonObject | undefined }
      | { readonly kind: 'forgotten' }
      /** It wanted to listen, and nobody would have heard it. */
      | { readonly kind: 'unheard' }
    ))
  /** The subscriber was too slow, and this many events were left out. */
  | { readonly kind: 'missed'; readonly count: number }

export interface FleetStats {
  readonly devices: number
  readonly connected: number
  readonly pendingCalls: number
  /** What devices said to no effect, by kind. */
  readonly ignored: Readonly<Record<string, number>>
}

/** Who a connection has proved to be. */
export interface DeviceIdentity {
  readonly deviceId: string
  readonly clientId: string
}

/** One live connection. `send` and `close` never throw; after `close` the handlers get `closed` exactly once. */
export interface DeviceLink {
  readonly transport: DeviceTransport
  readonly remoteAddress: string
  /** The address of ours that the device reached, which is therefore one it can reach again. */
  readonly localAddress: string | undefined
  readonly udp: { readonly server: string; readonly port: number } | undefined
  readonly send: (text: string) => void
  /** Lost where the device cannot be reached with audio now. */
  readonly sendAudio: (frame: AudioFrame) => void
  /** Over MQTT: the keys of the audio session that begins with the hello they were told in. */
  readonly openAudio: (keys: UdpAudioKeys) => void
  readonly close: (reason: string) => void
}

export interface DeviceLinkHandlers {
  readonly text: (text: string) => void
  /** A packet of audio, which nobody has read yet. */
  readonly audio: (read: () => AudioFrame | undefined) => void
  /** A sign of life that says nothing: it is still there. */
  readonly stir: () => void
  readonly closed: (reason: string) => void
}

/** What a transport needs of a fleet. The newest connection of a device wins and the older one is closed. */
export interface DeviceAcceptor {
  readonly attach: (identity: DeviceIdentity, link: DeviceLink) => DeviceLinkHandlers
}

/** Where the voice of devices goes. */
export interface VoiceService {
  /** For one connection of a device. */
  readonly open: (identity: DeviceIdentity, port: VoiceChannelHandlers) => VoiceChannel
}

export interface VoiceChannel {
  readonly output: (output: SessionToVoiceMessage) => void
  /** Whether somebody listens; what nobody listens to is not read. */
  readonly audio: (read: () => AudioFrame | undefined) => boolean
  readonly close: () => void
}

export interface VoiceChannelHandlers {
  readonly input: (input: VoiceToSessionMessage) => void
  readonly audio: (frame: AudioFrame) => void
}

/** What a stranger says to be let in. */
export type PresentedDeviceCredential =
  | PresentedDeviceToken
  | { readonly kind: 'mqtt'; readonly credentials: MqttCredentials }

export interface PresentedDeviceToken {
  readonly kind: 'token'
  readonly deviceId: string
  readonly clientId: string
  readonly token: string
}

/** `undefined` keeps the stranger out without saying why. */
export type DeviceAuthenticator = (claim: PresentedDeviceCredential) => Promise<DeviceIdentity | undefined>

export interface UploadedPhoto {
  readonly bytes: Uint8Array
  readonly mimeType: string
  /** Told to the device when it had posted; stock cameras repeat it in the answer of their tool. */
  readonly receipt: string
}

/** Where cameras post: hands out tokens that are good once, and gives up what was posted. */
export interface PhotoUploads {
  readonly issue: (identity: DeviceIdentity, localAddress: string | undefined) => VisionEndpoint | undefined
  /** The picture posted last by this device, once. What it is still posting is nobody's from now on. */
  readonly collect: (deviceId: string) => UploadedPhoto | undefined
  /** Called when a device has used its token, with or without success. */
  readonly onSpent: (listener: (deviceId: string) => void) => void
}

/** Keeps what was last known of each device over a restart. */
export interface RememberedDeviceStore {
  readonly recall: () => readonly { readonly deviceId: string; readonly remembered: RememberedDevice }[]
  readonly remember: (deviceId: string, remembered: RememberedDevice) => void
}
