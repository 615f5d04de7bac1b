/**
 * Simulated device: the interface of a simulated device for tests, demos and people.
 */
import type { JsonObject } from '../../core/json.ts'
import type { AudioVersion } from '../../devices/wire/audio-frame.ts'
import type { ListenMode } from '../../devices/wire/device-frame.ts'
import type { MqttSettings, WebSocketSettings } from '../../devices/wire/ota.ts'
import type { SimulatedBoardKind } from './simulated-board.ts'
import type { SimulatedIdentity } from './identity.ts'
import type { FirmwareProfileName } from './firmware-profile.ts'
import type { FirmwareTool } from './firmware-tool.ts'
import type { FirmwareVoiceState } from './firmware-voice-task.ts'

export interface DeviceSimulatorOptions {
  readonly profile: FirmwareProfileName
  readonly kind: SimulatedBoardKind
  readonly identity: SimulatedIdentity
  /** The URL of its OTA endpoint. Without it, one of the settings below is needed. */
  readonly ota?: string
  readonly websocket?: WebSocketSettings
  readonly mqtt?: MqttSettings
  /**
   * Stock WebSocket devices stay silent until a person wakes them. `true` wakes the device as soon as it has booted,
   * and again whenever it loses its connection.
   */
  readonly awake?: boolean
  /** How it listens after it was woken; without it a wake word opens a channel and the microphone stays shut. */
  readonly listens?: ListenMode
  /** Layout of its binary frames, unless the OTA answer says another. */
  readonly audioVersion?: AudioVersion
  readonly timing?: Partial<FirmwareTiming>
  readonly faults?: Partial<SimulatedDeviceFaults>
  /** Tools beyond those of its kind. */
  readonly tools?: readonly FirmwareTool[]
  readonly onCode?: (code: string) => void
  /** Switches it off, even while it waits for approval. */
  readonly signal?: AbortSignal
}

/** The firmware's own times; shorter ones make for shorter tests. */
export interface FirmwareTiming {
  readonly helloMs: number
  readonly channelMs: number
  readonly activateMs: number
  readonly activateErrorMs: number
  readonly reconnectMs: number
  readonly rebootMs: number
  readonly keepAliveSeconds: number
}

export const FIRMWARE_TIMING: FirmwareTiming = {
  helloMs: 10_000,
  channelMs: 120_000,
  activateMs: 3_000,
  activateErrorMs: 10_000,
  reconnectMs: 60_000,
  rebootMs: 2_000,
  keepAliveSeconds: 240,
}

/** Faults of a device; read at every step, so they can be changed while the device runs. */
export interface SimulatedDeviceFaults {
  /** Delays every answer by this much. */
  lateMs: number
  noPong: boolean
  /** The connection breaks as soon as a tool is called. */
  dropOnCall: boolean
  /** Answers are not valid JSON. */
  garbled: boolean
  /** The device answers nothing. */
  silent: boolean
  /** A second connection with the same identity is opened as soon as the first one exists. */
  duplicate: boolean
  /** One tool is too large for any page. */
  oversizedTool: boolean
  /** Answers are larger than the 65,535 bytes that fit a WebSocket message of the firmware. */
  oversizedReply: boolean
}

export const NO_DEVICE_FAULTS: SimulatedDeviceFaults = {
  lateMs: 0,
  noPong: false,
  dropOnCall: false,
  garbled: false,
  silent: false,
  duplicate: false,
  oversizedTool: false,
  oversizedReply: false,
}

export interface DeviceMessageTranscriptLine {
  readonly from: 'device' | 'backend'
  readonly text: string
}

export interface SimulatedDevice {
  readonly identity: SimulatedIdentity
  readonly faults: SimulatedDeviceFaults
  /** What the last answer of the OTA endpoint was. */
  readonly otaAnswer: () => JsonObject | undefined
  readonly state: () => JsonObject
  /** The newest frames in both directions. */
  readonly transcript: () => readonly DeviceMessageTranscriptLine[]
  /** What its screen showed: alerts and announcements. */
  readonly shown: () => readonly string[]
  readonly connected: () => boolean
  /** Whether the channel is open for the firmware: greeted, and a data frame within the last 120 s. */
  readonly channelOpen: () => boolean
  readonly sessionId: () => string
  /** Simulates the wake word: opens a channel. Rejects when the backend does not answer in time. */
  readonly wake: () => Promise<void>
  /** Closes the channel: over WebSocket the connection, over MQTT only the audio. */
  readonly sleep: () => void
  readonly notify: (method: string, params: JsonObject) => void
  /** Sends any text, as a faulty device might. */
  readonly say: (text: string) => void
  /** Sends microphone audio, as binary frames or UDP packets: a number of silent ones, or the given ones. */
  readonly speak: (packets: number | readonly Uint8Array[]) => Promise<void>
  readonly voice: () => { readonly state: FirmwareVoiceState; readonly microphoneOpen: boolean }
  /** Opus packets that it played. */
  readonly played: () => readonly Uint8Array[]
  /** Presses the button, while it listens or speaks. */
  readonly press: () => void
  /** Opens a second connection with the same identity, while the first one stays. */
  readonly duplicate: () => Promise<void>
  /** Breaks the connection. */
  readonly cut: () => void
  readonly stop: () => void
}
