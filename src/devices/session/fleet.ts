/**
 * Fleet: the interface between devices and the modules that use them.
 *
 *   transports ──attach(identity, link)──▶ fleet ──step──▶ one session per device
 *   tools, people ──call, announce, subscribe──▶ fleet
 *
 * Transports attach authenticated devices only, and calls have passed the guard before. The fleet knows neither tokens
 * nor policy.
 */
import type { Json, JsonObject } from '../../core/json.ts'
import type { Result } from '../../core/result.ts'
import type { ToolResult } from '../wire/tool-result.ts'
import type { AudioFrame } from '../wire/audio-frame.ts'
import type { AnnouncementToPerson } from '../wire/device-frame.ts'
import type { MqttCredentials } from '../wire/mqtt-identity.ts'
import type { DeviceTool, DeviceServerInfo } from '../wire/tool-list.ts'
import type { UdpAudioKeys } from '../wire/udp-audio.ts'
import type { DeviceFault } from './device-fault.ts'
import type {
  SessionPhase,
  RememberedDevice,
  DeviceTransport,
  VisionEndpoint,
  VoiceRelayToSessionMessage,
  SessionToVoiceRelayMessage,
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
  /** Sends an announcement. A device does not answer it, so the result only says that it was sent. */
  readonly announce: (id: string, announcement: AnnouncementToPerson) => Result<'sent', DeviceFault>
  /** Requests the list of tools again; the result is an event. */
  readonly relist: (id: string) => void
  /** The stream ends when the signal aborts, the consumer returns, or the fleet closes. */
  readonly subscribe: (signal?: AbortSignal) => AsyncIterableIterator<FleetEvent>
  /** Closes the connection, if there is one. */
  readonly disconnect: (id: string, reason: string) => void
  /** Closes the connection and forgets the device. */
  readonly forget: (id: string) => void
  readonly stats: () => FleetStats
  readonly close: () => void
}

export interface DeviceCallOptions {
  readonly signal?: AbortSignal | undefined
  /** How long the device may take after the request was sent. By default the usual time of the tool. */
  readonly timeoutMs?: number | undefined
  /** `fail` answers at once; `queue` keeps the call until the device connects or `waitMs` is over. */
  readonly whenAsleep?: 'fail' | 'queue' | undefined
  /** How long the call may wait for its turn and for the device to wake. */
  readonly waitMs?: number | undefined
  /** The voice backend requested the call, so its pictures are sent to the backend. */
  readonly isBackends?: boolean | undefined
}

export interface FleetDevice {
  readonly id: string
  readonly online: boolean
  readonly phase: SessionPhase
  /** The present transport, or the last one. */
  readonly transport: DeviceTransport | undefined
  readonly remoteAddress: string | undefined
  readonly info: DeviceServerInfo | undefined
  /** The tools of the last listing, also while the device is asleep. */
  readonly tools: readonly DeviceTool[]
  /** Why tools are missing from the list; partly the device's own text. */
  readonly warnings: readonly string[]
  readonly queued: number
  /** Whether the device is working on a request of the voice backend now. */
  readonly isAtBackends?: boolean
  /** By the wall clock; `undefined` for a device that has not connected since the start. */
  readonly lastSeenMs: number | undefined
}

export type FleetEvent =
  | ({ readonly device: string; readonly atMs: number } & (
      | { readonly kind: 'online'; readonly transport: DeviceTransport }
      | { readonly kind: 'offline'; readonly reason: string }
      | { readonly kind: 'tools'; readonly changed: boolean }
      | { readonly kind: 'notification'; readonly method: string; readonly params: JsonObject | undefined }
      | { readonly kind: 'forgotten' }
      /** The device began to listen, and no voice backend could hear it. */
      | { readonly kind: 'unheard' }
    ))
  /** The subscriber was too slow, and this many events were dropped. */
  | { readonly kind: 'missed'; readonly count: number }

export interface FleetStats {
  readonly devices: number
  readonly connected: number
  readonly pendingCalls: number
  /** Messages of devices that had no effect, by kind. */
  readonly ignored: Readonly<Record<string, number>>
}

/** The identity that a connection has proven. */
export interface DeviceIdentity {
  readonly deviceId: string
  readonly clientId: string
}

/** One live connection. `send` and `close` never throw; after `close` the handlers get `closed` exactly once. */
export interface DeviceLink {
  readonly transport: DeviceTransport
  readonly remoteAddress: string
  /** Our address at which the device reached us, so that it can reach it again. */
  readonly localAddress: string | undefined
  readonly udp: { readonly server: string; readonly port: number } | undefined
  readonly send: (text: string) => void
  /** Sends audio. The frame is dropped if the device cannot receive audio at the moment. */
  readonly sendAudio: (frame: AudioFrame) => void
  /** Over MQTT: opens the audio session with the keys that the device was told in its hello. */
  readonly openAudio: (keys: UdpAudioKeys) => void
  readonly close: (reason: string) => void
}

export interface DeviceLinkHandlers {
  readonly text: (text: string) => void
  /** A packet of audio arrived, which was not read yet. */
  readonly audio: (read: () => AudioFrame | undefined) => void
  /** The device sent something without content, which only shows that it is still there. */
  readonly stir: () => void
  readonly closed: (reason: string) => void
}

/** What a transport needs of a fleet. The newest connection of a device replaces the older one, which is closed. */
export interface DeviceLinkAttacher {
  readonly attach: (identity: DeviceIdentity, link: DeviceLink) => DeviceLinkHandlers
}

/** The service to which the voice of devices is passed. */
export interface VoiceService {
  /** Opens a channel for one connection of a device. */
  readonly open: (identity: DeviceIdentity, port: VoiceChannelHandlers) => VoiceChannel
}

export interface VoiceChannel {
  readonly output: (output: SessionToVoiceRelayMessage) => void
  /** Returns whether the audio is used; unused audio is not decoded. */
  readonly audio: (read: () => AudioFrame | undefined) => boolean
  readonly close: () => void
}

export interface VoiceChannelHandlers {
  readonly input: (input: VoiceRelayToSessionMessage) => void
  readonly audio: (frame: AudioFrame) => void
}

/** The credential that an unauthenticated client presents. */
export type PresentedDeviceCredential =
  | PresentedDeviceToken
  | { readonly kind: 'mqtt'; readonly credentials: MqttCredentials }

export interface PresentedDeviceToken {
  readonly kind: 'token'
  readonly deviceId: string
  readonly clientId: string
  readonly token: string
}

/** Resolves to `undefined` to refuse the client without telling it why. */
export type DeviceAuthenticator = (claim: PresentedDeviceCredential) => Promise<DeviceIdentity | undefined>

export interface UploadedPhoto {
  readonly bytes: Uint8Array
  readonly mimeType: string
  /** Told to the device after its post; stock cameras repeat it in the answer of their tool. */
  readonly receipt: string
}

/** Issues one-time tokens for posting pictures, and returns the posted pictures. */
export interface PhotoUploads {
  readonly issue: (identity: DeviceIdentity, localAddress: string | undefined) => VisionEndpoint | undefined
  /** Returns the picture that this device posted last, once. A post that is still running is discarded. */
  readonly collect: (deviceId: string) => UploadedPhoto | undefined
  /** Calls the listener when a device has used its token, with or without success. */
  readonly onSpent: (listener: (deviceId: string) => void) => void
}

/** Keeps the last known facts about each device over a restart. */
export interface RememberedDeviceStore {
  readonly recall: () => readonly { readonly deviceId: string; readonly remembered: RememberedDevice }[]
  readonly remember: (deviceId: string, remembered: RememberedDevice) => void
}
