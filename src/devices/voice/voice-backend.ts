/**
 * Voice backend: the interface to the far end that a device's voice is passed on to, for every transport.
 */
import type { AudioFrame } from '../wire/audio-frame.ts'
import type { MqttSettings, WebSocketSettings } from '../wire/ota.ts'

/** The address of a backend, and the identity with which a device connects to it. */
export type VoiceBackendConnectionSettings =
  | { readonly kind: 'websocket'; readonly websocket: WebSocketSettings }
  | { readonly kind: 'mqtt'; readonly mqtt: MqttSettings }

/** One connection on behalf of one device. No method throws; `closed` is called exactly once. */
export interface VoiceBackendLink {
  readonly send: (text: string) => void
  readonly sendAudio: (frame: AudioFrame) => void
  readonly close: () => void
}

/**
 * A backend counts as lost after this many unanswered pings, because the microphone of a listening device must be shut
 * within five seconds. Pings are counted instead of timed, so that a delay of our own process ends no connection.
 */
export const VOICE_BACKEND_PING_INTERVAL_MS = 1_000
export const MAX_UNANSWERED_PINGS = 3

export interface VoiceBackendHandlers {
  /** Called when connected: the device's hello can be sent. */
  readonly opened: () => void
  readonly text: (text: string) => void
  readonly audio: (frame: AudioFrame) => void
  /** `isClean`: the backend ended the conversation, rather than losing the connection. */
  readonly closed: (isClean: boolean, reason: string) => void
}
